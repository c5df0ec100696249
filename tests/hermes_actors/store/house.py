"""A whole store, running: the actor in a life of its own, its readers, its log."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import trio

from hermes_actors.errors import ActorGone, StoreRefused
from hermes_actors.journal import Journal
from hermes_actors.runtime import Ended, Life, Mailbox, Ref
from hermes_actors.store import Read, Readers, Store, StoreActor, StoreSettings, Write, notes
from hermes_actors.testing.event_log import EventLog, recorded


class House:
    """One store and everything a test wants to know about it."""

    def __init__(self, settings: StoreSettings, journal: Journal, grace: float) -> None:
        self.settings = settings
        self.readers = Readers(settings)
        self.actor = StoreActor(settings, self.readers, journal)
        self.box: Mailbox[Any] = Mailbox("store", 10_000)
        self.ref: Ref[Any] = Ref("store", self.box)
        self.life = Life(self.actor, self.box, journal, grace=grace)
        self.store = Store(self.ref, self.readers)
        self.ended: Ended | None = None
        self.started, self.over = trio.Event(), trio.Event()
        self.heard: dict[str, str] = {}

    async def live(self) -> None:
        self.ended = await self.life.run(self.started.set)
        self.over.set()

    async def write(self, name: str, operation: Write[Any]) -> None:
        """Write, and note in `heard` what came of it."""
        await trio.lowlevel.checkpoint()
        try:
            await self.store.write(operation)
            self.heard[name] = "written"
        except StoreRefused as no:
            self.heard[name] = no.kind
        except ActorGone as gone:
            self.heard[name] = gone.reason

    async def read(self, name: str, question: Read[Any]) -> None:
        """Read, and note in `heard` what came of it."""
        await trio.lowlevel.checkpoint()
        try:
            await self.store.read(question)
            self.heard[name] = "read"
        except ActorGone as gone:
            self.heard[name] = gone.reason

    def on_disk(self) -> list[str]:
        """The names of all notes, as somebody else sees them in the file."""
        return names_in(self.settings.path)


def size_of(path: str) -> int:
    return os.stat(path).st_size


def content_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def threads_left(prefix: str) -> list[str]:
    """Threads with such names that do not end within some seconds. Blocks: call it in a thread."""
    ours = [each for each in threading.enumerate() if each.name.startswith(prefix)]
    for each in ours:
        each.join(5)
    return [each.name for each in ours if each.is_alive()]


def names_in(path: str | Path) -> list[str]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [name for (name,) in db.execute("SELECT name FROM notes ORDER BY name")]
    finally:
        db.close()


def settings_in(folder: Path, **more: Any) -> StoreSettings:
    return StoreSettings(path=str(folder / "hermes.db"), **more)


def note(name: str, content: Any = 1) -> Write[None]:
    return notes.put("test", name, content, now=1.0)


@asynccontextmanager
async def running(
    folder: Path, *, log: EventLog | None = None, grace: float = 5.0, **settings: Any
) -> AsyncIterator[House]:
    journal = recorded(EventLog() if log is None else log)
    house = House(settings_in(folder, **settings), journal, grace)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.live)
        await house.started.wait()
        yield house
        house.life.stop("the test is over")
        with trio.fail_after(10):
            await house.over.wait()
