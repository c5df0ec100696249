"""A gateway as its configuration makes it, from the router to the model's socket; no surface yet.

The file below is what an operator would write. Everything else is the product's own: wiring,
supervision, a store on a real disk, and the log, which goes to a file beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from benchmarks.turns.script import Script
from hermes_actors.actors.feed import Reader
from hermes_actors.actors.hook_host import HookHost
from hermes_actors.actors.recovery import Recovery
from hermes_actors.actors.services import Services
from hermes_actors.actors.session import StopRun
from hermes_actors.config import judge, read
from hermes_actors.errors import ConfigError
from hermes_actors.happenings import RunBegan, RunEnded, Words
from hermes_actors.hooks import HookBus
from hermes_actors.hooks.plugins import Catalogue
from hermes_actors.journal import Journal
from hermes_actors.logs import LineWriter, start_logging
from hermes_actors.runtime import System
from hermes_actors.store import Readers, Store, StoreActor, StoreSettings
from hermes_actors.values import Inbound, Source
from supervisors.spec import Door, worker
from supervisors.supervisor import Supervisor, run_tree
from supervisors.tree import Parts, gateway_tree
from supervisors.wiring import Agents, Prepared, wire

_CONFIG = """
[model]
provider = "openai"
name = "fake"
base_url = "{url}"

[session]
text_batch_delay = 0
"""
PLATFORM = "api_server"
"""A surface whose answer is the open response: nothing waits for a later delivery."""


class Conversation:
    """One chat and its only reader."""

    def __init__(self, services: Services, chat: str) -> None:
        self._services, self._chat = services, chat
        self._source = Source(platform=PLATFORM, chat_id=chat, user_id="someone")
        self._keys = itertools.count()
        self._session = ""
        self._reader: Reader

    async def begin(self) -> Conversation:
        """Find the conversation and look at it from now on."""
        address = await self._services.router.address(self._inbound(""))
        self._session = address.session_key
        self._reader = self._services.house.feeds.of(self._session).subscribe()
        return self

    async def say(self, script: Script) -> None:
        """Hand in a message; it is kept when this returns."""
        await self._services.router.receive(self._inbound(script.words()))

    async def turn(self, script: Script) -> RunEnded:
        """A message and its whole answer."""
        await self.say(script)
        return await self.until_ended()

    async def until_begun(self) -> None:
        """Wait until a run has the message in hand."""
        async for each in self._reader:
            if isinstance(each.what, RunBegan):
                return

    async def until_words(self) -> None:
        """Wait until somebody could read something."""
        async for each in self._reader:
            if isinstance(each.what, Words):
                return

    async def until_ended(self) -> RunEnded:
        """Read to the end of the run."""
        async for each in self._reader:
            if isinstance(each.what, RunEnded):
                return each.what
        raise AssertionError("the gateway went down")

    def stop(self) -> bool:
        """Stop the run in progress, as /stop does; False when there is none."""
        wish = StopRun("user_stop")
        self._services.sessions.ref(self._session).signal(wish)
        return wish.hit is not None

    def leave(self) -> None:
        """Look no longer."""
        self._reader.close()

    def _inbound(self, text: str) -> Inbound:
        return Inbound(self._source, f"{self._chat}:{next(self._keys)}", text)


@asynccontextmanager
async def gateway(place: Path, model_url: str) -> AsyncIterator[Services]:
    """A gateway that lives as long as the block, with its files in `place`."""
    prepared = _prepared(place, model_url)
    journal = prepared.journal
    redactor = prepared.loaded.redactor()
    with (place / "log").open("w", encoding="utf-8") as file:
        logs = start_logging(LineWriter(file), redactor)
        journal.subscribe(logs.read)
        try:
            system, door = System(journal), Door("sessions")
            settings = StoreSettings(path=str(place / "gateway.db"))
            readers = Readers(settings)
            actor = worker(
                "store", lambda: StoreActor(settings, readers, journal), capacity=10_000, drain=5.0
            )
            store = Store(actor.ref, readers)
            agents = Agents(prepared.loaded, prepared.catalogue, redactor)
            services = wire(prepared, agents, store, system, door)
            parts = Parts(
                hooks=lambda: HookHost(prepared.bus),
                store=actor,
                sessions=door,
                recovery=lambda: Recovery(services.house, services.sessions),
                adapters={},
            )
            root = Supervisor(gateway_tree(parts, drain=0.1, grace=5.0), system)
            async with trio.open_nursery() as nursery:
                up = trio.Event()
                nursery.start_soon(run_tree, root, system, up.set)
                await up.wait()
                yield services
                root.drain("measured")
            services.house.feeds.close()
        finally:
            logs.close()


def _prepared(place: Path, model_url: str) -> Prepared:
    file = place / "hermes.toml"
    file.write_text(_CONFIG.format(url=model_url), encoding="utf-8")
    judgement, journal = judge(read(file, place)), Journal()
    if judgement.problems:
        raise ConfigError(judgement.problems)
    bus = HookBus(journal)
    return Prepared(judgement.loaded, bus, Catalogue(bus), journal)
