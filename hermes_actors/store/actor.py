"""The store as an actor: writes wait in its lane, are committed together, and then answered.

While one batch is being committed the next one gathers in the lane, so the busier the house, the
larger the batches: durability costs one disk flush for all of them. Nothing is answered before it
is committed. A batch in hand is finished even when the store is told to stop, or when an asker
leaves, because half of a batch is not a thing that exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import outcome
import trio

from hermes_actors.errors import ActorGone, MailboxFull, StoreRefused
from hermes_actors.failpoints import Point, failpoint
from hermes_actors.journal import Journal
from hermes_actors.runtime import Actor, Reply
from hermes_actors.store.connection import StoreSettings
from hermes_actors.store.operation import Write
from hermes_actors.store.readers import Readers
from hermes_actors.store.worker import InlineWorker, ThreadWorker, Worker
from hermes_actors.store.writer import FilesVanished, Result, Writer

Asked = list[tuple[Write[Any], Reply | None]]


class Checkpoint:
    """Fold the write-ahead log back now; the store sends it to itself in idle time."""


class WriterStuck(Exception):
    """The disk has not answered in time. What was in hand may or may not have been committed."""


class WriterLost(Exception):
    """The file had to be opened anew and could not be. Nothing of the batch was written."""


class StoreActor(Actor[Write[Any] | Checkpoint]):
    """The single writer of one database file.

    Answers each `Write` with what its function returned, once that is committed, or refuses with
    what it raised, once that is undone. Faults of the disk are refusals, not crashes.
    """

    withdraw_cuts = False

    def __init__(self, settings: StoreSettings, readers: Readers, journal: Journal) -> None:
        self._settings, self._readers, self._journal = settings, readers, journal
        self._worker = self._new_worker()
        self._written = trio.Event()
        self._tending = trio.CancelScope()
        self._refusing: str | None = None
        self._operations = 0

    async def started(self) -> None:
        """Open the file, bring its schema up to date, open the readers."""
        await self._worker.open()
        await self._readers.open()
        self.spawn(self._fold_back_in_idle_time)
        self._journal.note("store.opened")

    async def receive(self, message: Write[Any] | Checkpoint) -> None:
        """Commit `message` together with everything else that waits."""
        if isinstance(message, Checkpoint):
            await self._checkpoint()
            return
        asked: Asked = [(message, self.reply_later()), *self._waiting_writes()]
        results, pages = await self._commit([write for write, _ in asked])
        failpoint(Point.STORE_ANSWER_BEFORE)
        self._answer_all(asked, results)
        failpoint(Point.STORE_ANSWER_AFTER)
        self._written.set()
        if pages > self._settings.checkpoint_pages:
            await self._checkpoint()

    def on_drain(self) -> None:
        """The lane is closed; there will be no more idle time to use."""
        self._tending.cancel()

    async def stopped(self) -> None:
        """Close readers, then the writer, which leaves a single file behind."""
        # A second for reads to end by themselves; then they are interrupted. The shield is here so
        # that a grace that runs out meanwhile cannot keep the writer from being told to close.
        with trio.move_on_after(1.0, shield=True):
            await self._readers.close()
        await self._close_writer()
        self._journal.note("store.closed")

    # Committing ------------------------------------------------------------------------------

    def _waiting_writes(self) -> Asked:
        more = self.take_queued(self._settings.batch - 1)
        return [(write, reply) for write, reply in more if isinstance(write, Write)]

    async def _commit(self, writes: Sequence[Write[Any]]) -> tuple[list[Result], int]:
        # The deadline is for a disk that hangs: without it a stop could wait for ever.
        with trio.move_on_after(self._settings.patience, shield=True):
            try:
                return await self._worker.run(lambda w: (w.commit_together(writes), w.pages))
            except FilesVanished:
                await self._open_anew()
                return await self._worker.run(lambda w: (w.commit_together(writes), w.pages))
        raise WriterStuck(f"{len(writes)} writes got no answer in {self._settings.patience} s")

    async def _open_anew(self) -> None:
        """Let go of the file with every connection at once, then begin again."""
        self._journal.note("store.reopening", why="files beside the database vanished")
        await self._readers.close(for_now=True)
        await self._close_writer()
        self._worker = self._new_worker()
        try:
            await self._worker.open()
            await self._readers.open()
        except StoreRefused as fault:
            # As a refusal it would pass for an answer, and leave a store without a writer.
            raise WriterLost(str(fault)) from fault

    def _new_worker(self) -> Worker[Writer]:
        kind = InlineWorker if self._settings.inline else ThreadWorker
        return kind(lambda: Writer(self._settings), "store writer")

    async def _close_writer(self) -> None:
        try:
            await self._worker.close()
        except StoreRefused as fault:
            self._journal.note("store.not_folded", fault=fault.kind)

    # Answering: from the commit to the last answer nobody else runs ------------------------------

    def _answer_all(self, asked: Asked, results: Sequence[Result]) -> None:
        ops = [self._next_id(result) for result in results]
        if done := [op for op in ops if op is not None]:
            self._journal.note("store.committed", ops=done)
            self._note_recovery()
        for (write, reply), result, op in zip(asked, results, ops, strict=True):
            if isinstance(result, outcome.Error):
                self._refuse(write, reply, result.error)
            elif reply is not None and reply.answer(result.value) and self._settings.trace:
                self._journal.note("store.acked", op=op, write=write.name)

    def _next_id(self, result: Result) -> str | None:
        """A name for what was committed, that no other life of this store gives again."""
        if isinstance(result, outcome.Error):
            return None
        self._operations += 1
        return f"{self._readers.opened}.{self._operations}"

    def _refuse(self, write: Write[Any], reply: Reply | None, error: BaseException) -> None:
        assert isinstance(error, Exception)
        self._note_fault(write, error)
        if reply is not None:
            reply.refuse(error)
        else:
            self._journal.note("work.refused", actor=self.ref.name, reason=_word_for(error))

    def _note_fault(self, write: Write[Any], error: Exception) -> None:
        """Say once when a fault begins, not once for every write that it hits."""
        kind = _word_for(error)
        if not isinstance(error, StoreRefused):
            self._journal.note("store.operation_failed", write=write.name, error=kind)
        elif kind != self._refusing and kind not in _ANSWERS:
            self._refusing = kind
            self._journal.note("store.refusing", fault=kind)

    def _note_recovery(self) -> None:
        self.thrived()
        if self._refusing is not None:
            self._journal.note("store.recovered", fault=self._refusing)
            self._refusing = None

    # Folding back ------------------------------------------------------------------------------

    async def _checkpoint(self) -> None:
        try:
            await self._worker.run(Writer.checkpoint)
        except StoreRefused as fault:
            self._journal.note("store.not_folded", fault=fault.kind)

    async def _fold_back_in_idle_time(self) -> None:
        with self._tending:
            while True:
                await self._written.wait()
                self._written = trio.Event()
                await trio.sleep(self._settings.checkpoint_idle)
                if not self._written.is_set():
                    self._fold_back_soon()

    def _fold_back_soon(self) -> None:
        try:
            self.ref.tell(Checkpoint())
        except (MailboxFull, ActorGone):
            self._written.set()  # not idle after all: look again later


_ANSWERS = frozenset({"conflict", "missing", "exists", "invalid", "too_big", "crowded"})
"""Refusals that say something about the question, nothing about the store's health."""


def _word_for(error: Exception) -> str:
    """What may be written down about an error: its text may hold words that people wrote."""
    return error.kind if isinstance(error, StoreRefused) else type(error).__name__
