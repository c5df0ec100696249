"""Small actors with a memory, for the tests of the kernel."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing

from hermes_actors.errors import Refusal
from hermes_actors.journal import Journal
from hermes_actors.runtime import Actor, Ended, Life, Mailbox, Ref


class Diary(Actor[Any]):
    """Writes down everything that happens to it.

    Messages: ``"slow"`` waits for ever, ``"crash"`` raises, ``"refuse"`` refuses, any other text
    is answered in capitals.
    """

    def __init__(self, pages: list[str] | None = None) -> None:
        self.pages = [] if pages is None else pages

    async def started(self) -> None:
        self.pages.append("started")

    async def receive(self, message: Any) -> object:
        self.pages.append(f"did {message}")
        if message == "slow":
            try:
                await trio.sleep_forever()
            finally:
                self.pages.append(f"slow cut: {self.interrupted_by}")
        if message == "crash":
            raise ValueError("bad message")
        if message == "refuse":
            raise Refusal("not today")
        return str(message).upper()

    def on_signal(self, message: object) -> None:
        self.pages.append(f"heard {message}")
        if message == "crash":
            raise RuntimeError("bad signal")

    def on_dropped(self, message: Any) -> None:
        self.pages.append(f"dropped {message}")

    async def stopped(self) -> None:
        await trio.lowlevel.checkpoint()
        self.pages.append("stopped")


class Alive:
    """One life under test: its address, its diary, and how it ended."""

    def __init__(self, actor: Actor[Any], capacity: int, grace: float) -> None:
        self.box: Mailbox[Any] = Mailbox("diary", capacity)
        self.ref: Ref[Any] = Ref("diary", self.box)
        self.journal = Journal()
        self.life: Life[Any] = Life(actor, self.box, self.journal, grace=grace)
        self.ended: Ended | None = None
        self.over = trio.Event()

    async def run(self) -> None:
        try:
            self.ended = await self.life.run()
        finally:
            self.over.set()


@asynccontextmanager
async def living(actor: Actor[Any], capacity: int = 10, grace: float = 5.0) -> AsyncIterator[Alive]:
    """Run one life in the background; it is stopped when the block ends."""
    alive = Alive(actor, capacity, grace)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(alive.run)
        await trio.testing.wait_all_tasks_blocked()
        yield alive
        alive.ref.stop("end of test")
