"""Reading beside the writer: a few connections of their own, each used by one task at a time.

A reader sees everything that was committed before it began, as one unmoving picture, and never
waits for the writer. More readers than connections wait their turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import apsw
import trio

from hermes_actors.errors import ActorGone, StoreRefused
from hermes_actors.store import faults
from hermes_actors.store.connection import StoreSettings, open_reader
from hermes_actors.store.grip import Grip
from hermes_actors.store.sql import Sql
from hermes_actors.store.worker import InlineWorker, ThreadWorker, Worker

T = TypeVar("T")


class Reader:
    """One reading connection; after a fault of the file it is opened anew."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._grip = Grip(open_reader(settings))

    def look(self, query: Callable[[Sql], T]) -> T:
        """Run `query` on one picture of the data."""
        db = self._grip.db or self._grip.hold(open_reader(self._settings))
        try:
            # An interrupt may have hit the end of the query before, and left it open.
            _end(db)
            db.execute("BEGIN")
            answer = query(db)
            _end(db)
        except (apsw.Error, OSError) as error:
            raise self._explain(error, db) from error
        except BaseException:
            _end(db)
            raise
        return answer

    def interrupt(self) -> None:
        """Make a running query fail soon."""
        self._grip.interrupt()

    def close(self) -> None:
        """Let go of the file."""
        self._grip.close()

    def _explain(self, error: Exception, db: apsw.Connection) -> Exception:
        if isinstance(error, apsw.InterruptError):
            # Either nobody waits any more, or the store is closing and could not wait longer.
            return ActorGone("store", "it was closed before the query had ended")
        explained = faults.translate(error, db.system_errno)
        if isinstance(explained, StoreRefused) and explained.kind in faults.REOPEN_AFTER:
            self._grip.close()
        return explained


def _end(db: apsw.Connection) -> None:
    if db.in_transaction:
        db.execute("ROLLBACK")


class Readers:
    """The reading connections of one store. Opened and closed by its actor, again and again."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._all: list[Worker[Reader]] = []
        self._idle: list[Worker[Reader]] = []
        self._places = trio.Semaphore(0)
        self._open = False
        self._pause: trio.Event | None = None
        self.opened = 0
        """How often it was opened: numbers the lives of the store."""

    async def open(self) -> None:
        """Open every connection; call it after the writer has opened the file."""
        self._all, self._idle, self._places = [], [], trio.Semaphore(0)
        for number in range(self._settings.readers):
            worker = self._new(f"store reader {number + 1}")
            self._all.append(worker)
            await worker.open()
        self._open = True
        self._end_pause()
        self.opened += 1
        for worker in self._all:
            self._idle.append(worker)
            self._places.release()

    async def run(self, query: Callable[[Sql], T]) -> T:
        """The result of `query`, run by the next free reader.

        Raises `StoreRefused` for a fault of the file and `ActorGone` while the store is down.
        Cancelling ends the query.
        """
        worker, give_back = await self._next_free()
        return await worker.run(lambda reader: reader.look(query), give_back)

    async def close(self, *, for_now: bool = False) -> None:
        """Refuse new reads, wait for running ones, close the connections.

        With `for_now` new reads wait for the next `open` instead. Cancelling interrupts the
        running ones; each connection is closed in any case.
        """
        self._open = False
        self._end_pause()
        if for_now:
            self._pause = trio.Event()
        # Whoever waits for a free place is woken, sees that we are closed, and wakes the next.
        self._places.release()
        async with trio.open_nursery() as nursery:
            for worker in self._all:
                nursery.start_soon(worker.close)

    # ---------------------------------------------------------------------------------------

    async def _next_free(self) -> tuple[Worker[Reader], Callable[[], None]]:
        while True:
            await self._until_open()
            places, idle = self._places, self._idle
            try:
                places.acquire_nowait()
            except trio.WouldBlock:
                await places.acquire()
            if self._open and places is self._places:
                break
            places.release()
        worker = idle.pop()

        def give_back() -> None:
            idle.append(worker)
            places.release()

        return worker, give_back

    async def _until_open(self) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        while not self._open:
            if self._pause is None:
                await trio.lowlevel.checkpoint()
                raise ActorGone("store", "it is not open")
            await self._pause.wait()

    def _end_pause(self) -> None:
        pause, self._pause = self._pause, None
        if pause is not None:
            pause.set()

    def _new(self, name: str) -> Worker[Reader]:
        kind = InlineWorker if self._settings.inline else ThreadWorker
        return kind(lambda: Reader(self._settings), name)
