"""What an address owns: the work lane, and the way to whoever lives behind it.

A mailbox survives crashes and restarts; the life that reads it does not. Work waits here in
order and in bounded number. Control does not wait at all: it is a call into the living actor,
made in the sender's own step, so that between "decided to stop" and "cancelled" no other task
runs. That is also why there is no control queue to overflow.

Askers that find the lane full park with their question in `_crowd`, and move up as room appears.
Their number is bounded by the number of tasks that ask, and each can leave at any time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec
import outcome
import trio

from hermes_actors.errors import ActorGone, MailboxFull

if TYPE_CHECKING:
    from hermes_actors.runtime.life import Life
    from hermes_actors.runtime.ref import Ref

M = TypeVar("M")


class _Wake:
    """An outcome that can be used again and again; Trio asks it for nothing but `unwrap`."""

    __slots__ = ()

    def unwrap(self) -> None:
        """Nothing to tell: what there is to know stands in the mailbox or in the reply."""


_WAKE = cast("outcome.Outcome[Any]", _Wake())


class Reply(msgspec.Struct, eq=False):
    """The asker's end of one question: settled once, by an answer, a refusal or a withdrawal."""

    _box: Mailbox[Any]
    number: int
    _task: trio.lowlevel.Task | None
    value: Any = None
    _owed: set[Reply] | None = None
    withdrawn: bool = False

    @property
    def open(self) -> bool:
        """Somebody still waits for this answer."""
        return self._task is not None

    def answer(self, value: object) -> bool:
        """Wake the asker with `value`; False when nobody waits any more."""
        if self._task is not None:
            self.value = value
        return self._settle(_WAKE)

    def refuse(self, error: Exception) -> bool:
        """Wake the asker with an exception; False when nobody waits any more."""
        return self._settle(outcome.Error(error))

    def owed_in(self, ledger: set[Reply]) -> None:
        """Keep this reply in `ledger` until it is settled; not if nobody waits any more."""
        if self.open:
            self._owed = ledger
            ledger.add(self)

    def _settle(self, result: outcome.Outcome[Any]) -> bool:
        if self._owed is not None:
            self._owed.discard(self)
            self._owed = None
        task, self._task = self._task, None
        if task is None:
            return False
        trio.lowlevel.reschedule(task, result)
        return True

    def give_up(self, _: object) -> trio.lowlevel.Abort:
        """The asker was cancelled while it waited: withdraw the question."""
        self._task, self.withdrawn = None, True
        if self._owed is not None:
            self._owed.discard(self)
        self._box.withdraw(self.number)
        return trio.lowlevel.Abort.SUCCEEDED


class Envelope(msgspec.Struct, eq=False):
    """A message on its way: its number in this mailbox, and who waits for an answer."""

    number: int
    message: Any
    reply: Reply | None
    at: float


class Mailbox(Generic[M]):
    """The work lane of one address, and its door to the living actor.

    Guarantees: first in, first out; never more than `capacity` messages; a closed box answers at
    once. Limit: it lives in one Trio run and is not safe to touch from other threads.
    """

    __slots__ = (
        "_crowd",
        "_ended",
        "_lane",
        "_next",
        "_reader",
        "_watchers",
        "capacity",
        "closed",
        "idle_since",
        "life",
        "name",
        "peak",
        "refusing",
    )

    def __init__(self, name: str, capacity: int = 1000) -> None:
        if capacity < 1:
            raise ValueError(f"mailbox of '{name}' needs room for one message, not for {capacity}")
        self.name, self.capacity = name, capacity
        self.life: Life[Any] | None = None
        self.refusing: str | None = None
        self.closed: str | None = None
        self.peak = 0
        self.idle_since = 0.0
        self._next = 0
        # A list, because ten thousand empty deques are six megabytes, and because taking the first
        # out of the few hundred that a bounded lane may hold costs nothing that can be measured.
        self._lane: list[Envelope] = []
        self._crowd: deque[Envelope] | None = None
        self._reader: trio.lowlevel.Task | None = None
        self._watchers: list[Ref[Any]] | None = None
        self._ended: trio.Event | None = None

    def __len__(self) -> int:
        return len(self._lane) + (len(self._crowd) if self._crowd else 0)

    @property
    def oldest(self) -> float | None:
        """When the longest waiting message was put in; None when nothing waits."""
        return self._lane[0].at if self._lane else None

    # The sender's side ---------------------------------------------------------------------

    def put(self, message: M) -> None:
        """Queue work, or raise `MailboxFull` / `ActorGone`; never waits."""
        if self.refusing is not None:
            raise ActorGone(self.name, self.refusing)
        if len(self._lane) >= self.capacity:
            if self.life is not None:
                self.life.refused_work(len(self._lane))
            raise MailboxFull(self.name, self.capacity)
        self._next += 1
        self._append(Envelope(self._next, message, None, trio.current_time()))

    async def put_question(self, message: M) -> Any:
        """Queue work, wait for room if there is none, then wait for the answer."""
        if self.refusing is not None:
            # A checkpoint either way: an asker in a loop must not starve the house.
            await trio.lowlevel.checkpoint()
            raise ActorGone(self.name, self.refusing)
        asker = trio.lowlevel.current_task()
        if self.life is not None and self.life.task is asker:
            raise RuntimeError(f"'{self.name}' asks itself and would wait for ever; use `tell`")
        # If the asker is already cancelled, waiting takes the question back in this same step.
        self._next += 1
        reply = Reply(self, self._next, asker)
        envelope = Envelope(self._next, message, reply, trio.current_time())
        if len(self._lane) < self.capacity:
            self._append(envelope)
        else:
            self._queue_up(envelope)
        await trio.lowlevel.wait_task_rescheduled(reply.give_up)
        return reply.value

    def withdraw(self, number: int) -> None:
        """Take back a question: it never begins, or, if it is in hand, it is cut."""
        for line in (self._lane, self._crowd):
            if line and (envelope := _find(line, number)) is not None:
                line.remove(envelope)
                self._move_up()
                return
        if self.life is not None:
            self.life.asker_left(number)

    def watch(self, watcher: Ref[Any]) -> None:
        """Tell `watcher` when this box is closed for good."""
        if self._watchers is None:
            self._watchers = []
        self._watchers.append(watcher)

    def unwatch(self, watcher: Ref[Any]) -> None:
        """Forget one earlier `watch` of the same watcher."""
        if self._watchers and watcher in self._watchers:
            self._watchers.remove(watcher)

    async def wait_closed(self) -> str:
        """Wait until nobody will ever read this box again; says why."""
        if self.closed is None:
            if self._ended is None:
                self._ended = trio.Event()
            await self._ended.wait()
        else:
            await trio.lowlevel.checkpoint()
        return self.closed or "ended"

    # The reader's side ---------------------------------------------------------------------

    async def take(self) -> Envelope:
        """The next piece of work; `Woken` if there is none and none will come.

        One checkpoint each, so that a full box starves nobody.
        """
        if self._lane:
            await trio.lowlevel.checkpoint()
        while not self._lane:
            if self.refusing is not None:
                raise Woken
            self._reader = trio.lowlevel.current_task()
            self.idle_since = trio.current_time()
            await trio.lowlevel.wait_task_rescheduled(self._stop_reading)
            # Told to end after it was woken: then this work does not begin, it stays in the lane.
            await trio.lowlevel.checkpoint_if_cancelled()
        envelope = self._lane.pop(0)
        if self._crowd:
            self._move_up()
        return envelope

    def take_more(self, limit: int) -> list[Envelope]:
        """Up to `limit` further pieces of work that are already here."""
        more = self._lane[:limit]
        del self._lane[:limit]
        self._move_up()
        return more

    def wake(self) -> None:
        """Let a waiting reader look around, though there is no work."""
        reader, self._reader = self._reader, None
        if reader is not None:
            trio.lowlevel.reschedule(reader, outcome.Error(Woken()))

    def drain(self) -> Iterator[Envelope]:
        """Take everything out, in order, waiting askers included."""
        while self._lane:
            taken, self._lane = self._lane, []
            self._move_up()
            yield from taken

    def seal(self, reason: str) -> None:
        """Take no new work; what is in the lane may still be done."""
        if self.refusing is None:
            self.refusing = reason

    def close(self, reason: str) -> None:
        """No life will ever read this box again."""
        self.refusing = self.closed = reason
        if self._ended is not None:
            self._ended.set()

    def take_watchers(self) -> list[Ref[Any]]:
        """The watchers, each to be told once."""
        watchers, self._watchers = self._watchers or [], None
        return watchers

    # ---------------------------------------------------------------------------------------

    def _queue_up(self, envelope: Envelope) -> None:
        if self._crowd is None:
            self._crowd = deque()
        self._crowd.append(envelope)

    def _append(self, envelope: Envelope) -> None:
        self._lane.append(envelope)
        if len(self._lane) > self.peak:
            self.peak = len(self._lane)
        reader, self._reader = self._reader, None
        if reader is not None:
            trio.lowlevel.reschedule(reader, _WAKE)

    def _move_up(self) -> None:
        while self._crowd and len(self._lane) < self.capacity:
            self._append(self._crowd.popleft())

    def _stop_reading(self, _: object) -> trio.lowlevel.Abort:
        self._reader = None
        return trio.lowlevel.Abort.SUCCEEDED


def _find(line: Iterable[Envelope], number: int) -> Envelope | None:
    return next((envelope for envelope in line if envelope.number == number), None)


class Woken(Exception):
    """Internal: the reader was woken without work. Never leaves the runtime."""
