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
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import outcome
import trio

from hermes_actors.errors import ActorGone, MailboxFull

if TYPE_CHECKING:
    from hermes_actors.runtime.life import Life
    from hermes_actors.runtime.ref import Ref

M = TypeVar("M")


class Reply:
    """The asker's end of one question: settled once, by an answer, a refusal or a withdrawal."""

    __slots__ = ("_owed", "_task", "withdrawn")

    def __init__(self) -> None:
        self._task: trio.lowlevel.Task | None = None
        self._owed: set[Reply] | None = None
        self.withdrawn = False

    @property
    def open(self) -> bool:
        """Somebody still waits for this answer."""
        return self._task is not None

    def answer(self, value: object) -> bool:
        """Wake the asker with `value`; False when nobody waits any more."""
        return self._settle(outcome.Value(value))

    def refuse(self, error: Exception) -> bool:
        """Wake the asker with an exception; False when nobody waits any more."""
        return self._settle(outcome.Error(error))

    def owed_in(self, ledger: set[Reply]) -> None:
        """Keep this reply in `ledger` until it is settled."""
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

    async def wait(self, box: Mailbox[Any], envelope: Envelope) -> Any:
        """Wait to be settled. Cancelling this wait withdraws the question."""

        def give_up(_: object) -> trio.lowlevel.Abort:
            self._task, self.withdrawn = None, True
            if self._owed is not None:
                self._owed.discard(self)
            box.withdraw(envelope)
            return trio.lowlevel.Abort.SUCCEEDED

        self._task = trio.lowlevel.current_task()
        return await trio.lowlevel.wait_task_rescheduled(give_up)


class Envelope:
    """A message on its way: its number in this mailbox, and who waits for an answer."""

    __slots__ = ("at", "message", "number", "reply")

    def __init__(self, number: int, message: Any, reply: Reply | None, at: float) -> None:
        self.number, self.message, self.reply, self.at = number, message, reply, at


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
        "life",
        "name",
        "peak",
        "refusing",
    )

    def __init__(self, name: str, capacity: int = 1000) -> None:
        self.name, self.capacity = name, capacity
        self.life: Life[Any] | None = None
        self.refusing: str | None = None
        self.closed: str | None = None
        self.peak = 0
        self._next = 0
        self._lane: deque[Envelope] = deque()
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
        self._append(self._seal(message, None))

    async def put_question(self, message: M) -> Any:
        """Queue work, wait for room if there is none, then wait for the answer."""
        if self.refusing is not None:
            # A checkpoint either way: an asker in a loop must not starve the house.
            await trio.lowlevel.checkpoint()
            raise ActorGone(self.name, self.refusing)
        if self.life is not None and self.life.is_current_task():
            raise RuntimeError(f"'{self.name}' asks itself and would wait for ever; use `tell`")
        await trio.lowlevel.checkpoint_if_cancelled()
        reply = Reply()
        envelope = self._seal(message, reply)
        if len(self._lane) >= self.capacity:
            if self._crowd is None:
                self._crowd = deque()
            self._crowd.append(envelope)
        else:
            self._append(envelope)
        return await reply.wait(self, envelope)

    def withdraw(self, envelope: Envelope) -> None:
        """Take back a question: it never begins, or, if it is in hand, it is cut."""
        for line in (self._lane, self._crowd):
            if line and envelope in line:
                line.remove(envelope)
                self._move_up()
                return
        if self.life is not None:
            self.life.asker_left(envelope.number)

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
        """The next piece of work. One checkpoint each, so that a full box starves nobody."""
        if self._lane:
            await trio.lowlevel.checkpoint()
        while not self._lane:
            self._reader = trio.lowlevel.current_task()
            await trio.lowlevel.wait_task_rescheduled(self._stop_reading)
        return self._pop()

    def take_more(self, limit: int) -> list[Envelope]:
        """Up to `limit` further pieces of work that are already here."""
        return [self._pop() for _ in range(min(limit, len(self._lane)))]

    def wake(self) -> None:
        """Let a waiting reader look around, though there is no work."""
        reader, self._reader = self._reader, None
        if reader is not None:
            trio.lowlevel.reschedule(reader, outcome.Error(Woken()))

    def drain(self) -> Iterator[Envelope]:
        """Take everything out, in order, waiting askers included."""
        while self._lane:
            yield self._pop()

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

    def _seal(self, message: M, reply: Reply | None) -> Envelope:
        self._next += 1
        return Envelope(self._next, message, reply, trio.current_time())

    def _append(self, envelope: Envelope) -> None:
        self._lane.append(envelope)
        if len(self._lane) > self.peak:
            self.peak = len(self._lane)
        reader, self._reader = self._reader, None
        if reader is not None:
            trio.lowlevel.reschedule(reader)

    def _pop(self) -> Envelope:
        envelope = self._lane.popleft()
        self._move_up()
        return envelope

    def _move_up(self) -> None:
        if self._crowd and len(self._lane) < self.capacity:
            self._append(self._crowd.popleft())

    def _stop_reading(self, _: object) -> trio.lowlevel.Abort:
        self._reader = None
        return trio.lowlevel.Abort.SUCCEEDED


class Woken(Exception):
    """Internal: the reader was woken without work. Never leaves the runtime."""
