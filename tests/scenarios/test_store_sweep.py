"""The store is cut at every step of its life: while it opens, commits, reads, drains and closes.

Each scenario is played some hundreds of times on a real file. After every one of them: whoever was
told "written" finds it in the file, nothing is half there, nobody waits any more, and no
connection is left open.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from glob import glob
from typing import Any

import apsw
import pytest
import trio

from hermes_actors.errors import ActorGone, StoreRefused
from hermes_actors.runtime import Life, Mailbox, Ref, System
from hermes_actors.store import Readers, Store, StoreActor, StoreSettings, Write, all_of, notes
from hermes_actors.store.sql import Sql
from hermes_actors.store.writer import Writer
from hermes_actors.testing.sweep import Stage, cancel_at_every_step
from tests.hermes_actors.store.house import names_in, note


class Archive:
    """A store on a fresh file, and a book of what everybody was told about it."""

    def __init__(self, stage: Stage, path: str) -> None:
        self.path, self.told, self.asked = path, list[str](), list[str]()
        self.gone, self.over = trio.Event(), trio.Event()
        settings = StoreSettings(path=path, inline=True, trace=True, readers=1, batch=3)
        self.readers, self.box = Readers(settings), Mailbox[Any]("store", 100)
        self.system = System(stage.journal)
        actor = StoreActor(settings, self.readers, stage.journal)
        self.life = Life(actor, self.box, stage.journal)
        self.store = Store(Ref("store", self.box), self.readers)
        self.ready = trio.Event()
        stage.world = self

    async def live(self) -> None:
        try:
            await self.life.run(self.ready.set)
        finally:
            self.system.retire(self.box, "the store is closed")
            self.ready.set()
            self.over.set()

    async def write(self, *names: str) -> None:
        """Write notes that belong together, and remember that we were told so."""
        self.asked.extend(names)
        await trio.lowlevel.checkpoint()
        try:
            await self.store.write(all_of(*(note(name) for name in names)))
            assert set(names) <= self.kept(), "told, but not in the file"
            self.told.extend(names)
        except ActorGone:
            self.gone.set()

    def kept(self) -> set[str]:
        """The names of all notes, as somebody else sees them in the file."""
        return set(names_in(self.path))

    async def be_refused(self) -> None:
        def half(sql: Sql) -> None:
            note("never").do(sql)
            raise StoreRefused("conflict", "no")

        await trio.lowlevel.checkpoint()
        try:
            await self.store.write(Write(half))
        except (StoreRefused, ActorGone):
            return

    async def read(self) -> None:
        """Whatever we were told before is seen."""
        before = set(self.told)
        await trio.lowlevel.checkpoint()
        try:
            assert before <= set(await self.store.read(notes.space("test")))
        except ActorGone:
            self.gone.set()


async def a_busy_day(stage: Stage, archives: Callable[[Stage], Archive], cut: str) -> None:
    """Writers, a reader, one who is refused and one who cannot wait; then the store drains."""
    archive = archives(stage)
    stage.on_stop(lambda: _cut(archive, cut))
    stage.arm()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(archive.live)
        await archive.ready.wait()
        async with trio.open_nursery() as day:
            day.start_soon(archive.write, "a1", "a2", "a3")
            day.start_soon(archive.be_refused)
            day.start_soon(archive.write, "b")
            day.start_soon(archive.read)
            day.start_soon(archive.write, "c1", "c2")
            day.start_soon(_impatient, archive)
        await archive.write("d")
        await archive.read()
        archive.life.drain("closing time")
        await archive.over.wait()


async def a_vanishing_log(stage: Stage, archives: Callable[[Stage], Archive], cut: str) -> None:
    """Somebody deletes the file beside the database while it is in use."""
    archive = archives(stage)
    stage.on_stop(lambda: _cut(archive, cut))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(archive.live)
        await archive.ready.wait()
        await archive.write("a1", "a2")
        os.unlink(archive.path + "-wal")
        stage.arm()
        async with trio.open_nursery() as day:
            day.start_soon(archive.write, "b1", "b2")
            day.start_soon(archive.read)
            day.start_soon(archive.write, "c")
        await archive.read()
        archive.life.drain("closing time")
        await archive.over.wait()


async def _impatient(archive: Archive) -> None:
    with trio.CancelScope() as patience:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(archive.write, "e1", "e2")
            await trio.lowlevel.checkpoint()
            await trio.lowlevel.checkpoint()
            patience.cancel()
    for moment in range(1, 5):
        await _read_for(moment, archive)


async def _read_for(moment: int, archive: Archive) -> None:
    """Leave a read after so many steps; its connection must be there for the next."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(archive.read)
        for _ in range(moment):
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()


def _cut(archive: Archive, how: str) -> None:
    match how:
        case "stop":
            archive.life.stop("cut")
        case "drain":
            archive.life.drain("cut")
        case "interrupt":
            archive.life.interrupt("cut", drop_queued=True, number=None)


def verify(stage: Stage) -> None:
    archive: Archive = stage.world
    db = apsw.Connection(archive.path, flags=apsw.SQLITE_OPEN_READONLY)
    kept = {name for (name,) in db.execute("SELECT name FROM notes")}
    intact = db.pragma("integrity_check")
    db.close()
    assert intact == "ok"
    assert set(archive.told) <= kept <= set(archive.asked), (archive.told, kept)
    for group in ({"a1", "a2", "a3"}, {"b1", "b2"}, {"c1", "c2"}, {"e1", "e2"}):
        if group <= set(archive.asked):
            assert len(group & kept) in (0, len(group)), kept
    if not stage.struck:
        assert set(archive.asked) - {"e1", "e2"} <= set(archive.told)


@pytest.fixture
def archives() -> Iterator[Callable[[Stage], Archive]]:
    """Every run has a file of its own, made from one that has its schema already."""
    # In memory where that is possible: nothing here depends on the disk, and there are many runs.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="hermes-sweep-", dir=memory) as folder:
        template, path = f"{folder}/template.db", f"{folder}/hermes.db"
        Writer(StoreSettings(path=template)).close()

        def archive(stage: Stage) -> Archive:
            for left in glob(path + "*"):
                os.unlink(left)
            shutil.copy(template, path)
            return Archive(stage, path)

        yield archive


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["stop", "drain", "interrupt"])
@pytest.mark.parametrize("scenario", [a_busy_day, a_vanishing_log])
def test_a_store_that_is_cut_anywhere_has_kept_what_it_said_it_has(
    archives: Callable[[Stage], Archive], scenario: Any, cut: str
) -> None:
    story = partial(scenario, archives=archives, cut=cut)
    report = cancel_at_every_step(story, verify=verify)
    assert report.ok, report
    assert report.exhaustive
    assert report.steps > 20
