"""A gateway and its model for a measuring process, in a folder that is gone afterwards."""

from __future__ import annotations

import itertools
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from benchmarks.store.house import folder
from benchmarks.turns.gateway import Conversation, gateway
from benchmarks.turns.model import FakeModel, fake_model
from benchmarks.turns.script import Hang, Script
from hermes_actors.actors.services import Services

WARM_UP = 30
AT_A_TIME = 50
ENDLESS = 1_000_000


class Bench:
    """Conversations on demand, and turns that stay open."""

    def __init__(self, services: Services, model: FakeModel) -> None:
        self.services, self.model = services, model
        self._names = itertools.count()

    async def conversation(self) -> Conversation:
        """A new one."""
        return await Conversation(self.services, f"chat{next(self._names)}").begin()

    async def turns(self, count: int, deltas: int = 1, *, each: int = 10) -> None:
        """Turns one after the other, `each` of them in one conversation."""
        for begin in range(0, count, each):
            talk = await self.conversation()
            for _ in range(min(each, count - begin)):
                await talk.turn(Script(deltas))
            talk.leave()

    async def open_turns(self, count: int, hang: Hang = "before") -> list[Conversation]:
        """That many turns whose model does not answer, each with a reader who waits for it."""
        talks: list[Conversation] = []
        for begin in range(0, count, AT_A_TIME):
            talks += await self._open_some(min(AT_A_TIME, count - begin), hang)
        return talks

    async def _open_some(self, count: int, hang: Hang) -> list[Conversation]:
        talks = {f"open{next(self._names)}": await self.conversation() for _ in range(count)}
        async with trio.open_nursery() as nursery:
            for tag, talk in talks.items():
                nursery.start_soon(talk.say, Script(hang=hang, tag=tag))
        await self.model.until_open(set(talks))
        return list(talks.values())

    async def end_turns(self, talks: list[Conversation]) -> None:
        """Stop them all, and wait until each has ended."""
        for talk in talks:
            talk.stop()
        for talk in talks:
            await talk.until_ended()
            talk.leave()


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    """A gateway that is warm: everything was imported and used before."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with folder() as place:
        async with fake_model() as model, gateway(place, model.url) as services:
            made = Bench(services, model)
            await made.turns(WARM_UP)
            yield made
