"""A small gateway for tests: a real store, real supervision, and whatever drives the turns."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from hermes_actors.actors.feed import Feeds, Reader
from hermes_actors.actors.hook_host import HookHost
from hermes_actors.actors.house import Agent, House, Limits
from hermes_actors.actors.recovery import Recovery
from hermes_actors.actors.router import Address, Receipt, Router
from hermes_actors.actors.session import Drive, Look, Session, StopRun, Wake
from hermes_actors.happenings import RunEnded, Seen, Words
from hermes_actors.hooks import HookBus
from hermes_actors.journal import Journal
from hermes_actors.pure.agent_loop import LoopLimits
from hermes_actors.pure.command_list import COMMANDS
from hermes_actors.pure.commands import Command, CommandTable
from hermes_actors.pure.tool_rules import DEFAULT_RULES, ToolRules
from hermes_actors.runtime import Registry, System
from hermes_actors.store import Readers, Store, StoreActor, StoreSettings
from hermes_actors.testing.event_log import EventLog, recorded
from hermes_actors.testing.scripted_model import ScriptedModel
from hermes_actors.values import (
    Capabilities,
    Inbound,
    Source,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from supervisors.policy import Limit, Strategy
from supervisors.spec import Branch, Crowd, Door, worker
from supervisors.supervisor import Supervisor, run_tree

CHAT = Source(platform="test", chat_id="c1", user_id="u1")
KEY = "agent:main:test:dm:c1"


class NoTools:
    """An agent without hands."""

    def offered(self) -> tuple[ToolSpec, ...]:
        return ()

    async def call(self, call: ToolCall, context: Any) -> ToolResult:
        return ToolResult(f"there is no tool '{call.name}'", failed=True)


class World:
    """Everything a test wants to reach."""

    def __init__(
        self, journal: Journal, path: Path, drive: Drive, limits: Limits, *, again: bool = False
    ) -> None:
        self.system = System(journal)
        settings = StoreSettings(path=str(path), inline=True)
        readers = Readers(settings)
        self.door = Door("sessions")
        self.bus = HookBus(journal)
        store = worker("store", lambda: StoreActor(settings, readers, journal), drain=5.0)
        self.store = Store(store.ref, readers)
        self.model = ScriptedModel(journal=journal)
        self.tools: Any = NoTools()
        self.loop = LoopLimits()
        self.rules: ToolRules = {}
        numbers = itertools.count(100 if again else 1)
        self.house = House(
            store=self.store,
            bus=self.bus,
            journal=journal,
            agent=self._agent,
            surface=lambda platform: Capabilities(supports_async_delivery=platform != "api"),
            feeds=Feeds(),
            limits=limits,
            now=lambda: 1000.0 + trio.current_time(),
            new_id=lambda kind: f"{kind}-{next(numbers)}",
        )
        self.sessions: Registry[Wake] = Registry(
            lambda key: Session(key, self.house, drive), self.door, self.system
        )
        self.router = Router(self.house, self.sessions, CommandTable(COMMANDS), self._act)
        self._tree = Branch(
            name="gateway",
            strategy=Strategy.REST_FOR_ONE,
            children=(
                worker("hooks", lambda: HookHost(self.bus)),
                store,
                Crowd(name="sessions", door=self.door, limit=Limit(3, 60.0), drain=5.0),
                worker("recovery", lambda: Recovery(self.house, self.sessions)),
            ),
        )
        self.root = Supervisor(self._tree, self.system)
        self._keys = itertools.count(1)

    def _agent(self, agent_id: str) -> Agent:
        return Agent(
            id=agent_id,
            model=self.model,
            model_name="scripted",
            tools=self.tools,
            loop=self.loop,
            rules={**DEFAULT_RULES, **self.rules},
        )

    async def _act(self, command: Command, address: Address, inbound: Inbound) -> str:
        wish = StopRun("user_stop")
        self.sessions.ref(address.session_key).signal(wish)
        return f"stopped {wish.hit}" if wish.hit else "nothing to stop"

    async def live(self, started: Callable[[], None]) -> None:
        await run_tree(self.root, self.system, started)

    async def say(self, text: str, key: str | None = None, source: Source = CHAT) -> Receipt:
        key = key or f"m{next(self._keys)}"
        return await self.router.receive(Inbound(source, key, text))

    def stop(self, **wish: Any) -> str | None:
        asked = StopRun("user_stop", **wish)
        self.sessions.ref(KEY).signal(asked)
        return asked.hit

    def look(self, key: str = KEY) -> Look:
        look = Look()
        self.sessions.ref(key).signal(look)
        return look

    def watch(self, key: str = KEY, after: int = 0) -> Reader:
        return self.house.feeds.of(key).subscribe(after=after)


async def until_ended(reader: Reader) -> list[Seen]:
    """What happens up to the end of the run."""
    seen: list[Seen] = []
    async for numbered in reader:
        seen.append(numbered.what)
        if isinstance(numbered.what, RunEnded):
            break
    return seen


def words(seen: list[Seen]) -> str:
    """What a person has read."""
    return "".join(each.text for each in seen if isinstance(each, Words))


@asynccontextmanager
async def living_world(
    path: Path,
    drive: Drive,
    *,
    log: EventLog | None = None,
    journal: Journal | None = None,
    limits: Limits | None = None,
    again: bool = False,
    prepare: Callable[[World], None] = lambda world: None,
) -> AsyncIterator[World]:
    """A gateway that lives as long as the block."""
    log = EventLog() if log is None else log  # not `or`: an empty log is false
    world = World(journal or recorded(log), path, drive, limits or Limits(), again=again)
    prepare(world)
    async with trio.open_nursery() as nursery:
        up = trio.Event()
        nursery.start_soon(world.live, up.set)
        await up.wait()
        yield world
        await wait_all_tasks_blocked()
        world.root.drain("end of test")
    world.house.feeds.close()
