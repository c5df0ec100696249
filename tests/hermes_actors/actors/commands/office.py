"""A small gateway in which every command is carried out for real."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from hermes_actors.actors.commands import Desk
from hermes_actors.actors.commands.asked import Office
from hermes_actors.actors.driver import drive as agent_loop
from hermes_actors.actors.house import Agent, Limits
from hermes_actors.actors.keeping import BusyMode
from hermes_actors.actors.receipts import Answered, Kept
from hermes_actors.actors.router import Router, always
from hermes_actors.actors.session import Drive, Session, Wake
from hermes_actors.actors.taking import Manners
from hermes_actors.errors import Refusal
from hermes_actors.hooks.contributions import PluginCommand
from hermes_actors.journal import Journal
from hermes_actors.pure.command_list import COMMANDS
from hermes_actors.pure.commands import CommandTable, plugin_command
from hermes_actors.runtime import Registry
from hermes_actors.store import messages, outbox
from hermes_actors.store.operation import Read
from hermes_actors.store.sql import Sql, rows
from hermes_actors.testing.event_log import EventLog, recorded
from hermes_actors.values import Source
from tests.hermes_actors.actors.world import CHAT, KEY, World, until_ended


class Town(World):
    """The small gateway with a desk, and with whatever manners a test wants."""

    def __init__(
        self,
        journal: Journal,
        path: Path,
        drive: Drive,
        *,
        again: bool = False,
        busy: BusyMode = "queue",
        manners: Manners | None = None,
        batch_delay: float = 0.0,
        plugins: Mapping[str, PluginCommand] | None = None,
    ) -> None:
        super().__init__(journal, path, drive, Limits(), again=again)
        manners, plugins = manners or Manners(), plugins or {}
        self.sessions: Registry[Wake] = Registry(
            lambda key: Session(key, self.house, drive, batch_delay=batch_delay, manners=manners),
            self.door,
            self.system,
        )
        table = CommandTable(
            [*COMMANDS, *(plugin_command(each.name, each.description) for each in plugins.values())]
        )
        office = Office(
            house=self.house, sessions=self.sessions, table=table, plugins=plugins, manners=manners
        )
        desk = Desk(office)
        self.router = Router(
            self.house,
            self.sessions,
            table,
            desk,
            word=desk.word,
            grouping=manners.grouping,
            busy=always(busy),
        )
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.gone = ""

    def _agent(self, agent_id: str) -> Agent:
        if self.gone:
            raise Refusal(self.gone)
        return super()._agent(agent_id)

    async def answer(self, text: str, source: Source = CHAT) -> str:
        """Send a command; the words that it is answered with."""
        receipt = await self.say(text, source=source)
        assert isinstance(receipt, Answered), receipt
        return receipt.text

    async def ack(self, text: str, source: Source = CHAT) -> str:
        """Send a message; what its sender is told meanwhile."""
        receipt = await self.say(text, source=source)
        assert isinstance(receipt, Kept), receipt
        return receipt.text

    async def talk(self, text: str, source: Source = CHAT, key: str = KEY) -> str:
        """Send a message and read its answer."""
        reader = self.watch(key, after=self.house.feeds.of(key).number)
        await self.say(text, source=source)
        return getattr((await until_ended(reader))[-1], "text", "")

    async def begin(self, text: str) -> None:
        """Send a message and let its run get as far as it can by itself."""
        await self.say(text)
        await wait_all_tasks_blocked()
        assert self.look().state == "running"

    def listen(self, *hooks: str) -> None:
        for hook in hooks:
            self._remember(hook)

    def _remember(self, hook: str) -> None:
        async def remember(**given: Any) -> None:
            await trio.lowlevel.checkpoint()
            self.heard.append((hook, given))

        self.bus.register(hook, remember, owner="test")

    async def lines(self, session: str) -> list[tuple[str, str | None]]:
        found = await self.store.read(messages.transcript(session))
        return [(line.role, line.content) for line in found]

    async def sent(self) -> list[str | None]:
        """All that was put into the outbox, in order."""
        return [row.text for row in await self.store.read(Read(_replies))]


def _replies(sql: Sql) -> list[outbox.Reply]:
    return rows(sql, outbox.Reply, "FROM outbox ORDER BY id", ())


@asynccontextmanager
async def living_town(
    path: Path,
    drive: Drive = agent_loop,
    *,
    log: EventLog | None = None,
    journal: Journal | None = None,
    **manners: Any,
) -> AsyncIterator[Town]:
    """A gateway that lives as long as the block."""
    log = EventLog() if log is None else log  # an empty log is false
    town = Town(journal or recorded(log), path, drive, **manners)
    async with trio.open_nursery() as nursery:
        up = trio.Event()
        nursery.start_soon(town.live, up.set)
        await up.wait()
        yield town
        await wait_all_tasks_blocked()
        town.root.drain("end of test")
    town.house.feeds.close()
