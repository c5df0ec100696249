"""Behaviour: what to subclass."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, TypeVarTuple

from hermes_actors.runtime.mailbox import Reply

if TYPE_CHECKING:
    import trio

    from hermes_actors.runtime.life import Life
    from hermes_actors.runtime.ref import Ref

M = TypeVar("M")
Args = TypeVarTuple("Args")


class Actor(Generic[M]):
    """One piece of work at a time, state on `self`, nobody else's state touched.

    The order of a life: `started`, then `receive` for each message, then `stopped`. A crash in
    any of them ends this object; a supervisor may make a new one for the same address.
    """

    withdraw_cuts: ClassVar[bool] = True
    """Whether an asker that gives up cuts the work in hand that was to answer it."""

    ref: Ref[M]
    """The actor's own address, set before `started`."""

    _life: Life[M]

    async def started(self) -> None:
        """Acquire what this life needs. Raising here is a crash like any other."""

    async def receive(self, message: M) -> object:
        """Do one piece of work; the return value answers an `ask`.

        May be cancelled at any `await`: by `interrupt`, by `stop`, or by an asker that left.
        """
        raise NotImplementedError(f"{type(self).__name__} has no receive()")

    def on_signal(self, message: object) -> None:
        """Handle a control message, in the sender's step, at any time of this life.

        A plain function so that it cannot wait. Raising crashes this actor, not the sender.
        """

    def on_dropped(self, message: M) -> None:
        """Hear of work that was taken out of the lane before it began."""

    def on_drain(self) -> None:
        """No new work will come; end children that would otherwise run for ever."""

    def may_unload(self) -> bool:
        """Whether an idle actor may leave memory now. Asked only with nothing in hand."""
        return True

    async def stopped(self) -> None:
        """Release everything: after a stop, a crash or a cancellation alike.

        Runs once all children are gone, shielded from cancellation, under the child's grace
        period. What is not done by then is cut.
        """

    # What an actor may use -----------------------------------------------------------------

    @property
    def interrupted_by(self) -> str | None:
        """The reason, once the work in hand has been interrupted."""
        return self._life.interrupted_by

    @property
    def work_number(self) -> int | None:
        """The number of the work in hand, as `Ref.interrupt(number=…)` takes it."""
        return self._life.in_hand

    def spawn(
        self,
        async_fn: Callable[[*Args], Awaitable[object]],
        *args: *Args,
        name: object = None,
    ) -> None:
        """Start a task that lives inside this actor: it ends no later, and its crash is ours.

        It starts in a fresh context, so that nothing of whoever is being served leaks into it.
        """
        self._life.spawn(async_fn, *args, name=name)

    def reply_later(self) -> Reply | None:
        """Keep the question in hand open after `receive` returns; None if nobody asked.

        Whoever holds the reply must settle it. If this piece of work is cut, refuses or crashes
        instead of returning, or if this life ends, what is still open is refused for you.
        """
        return self._life.reply_later()

    def take_queued(self, limit: int) -> list[tuple[M, Reply | None]]:
        """Take further waiting messages in hand together with this one, without waiting.

        Their replies are yours to settle, under the same terms as those of `reply_later`.
        """
        return self._life.take_queued(limit)

    def thrived(self) -> None:
        """Record proof that this life works (a poll that returned, a commit that held).

        Supervisors shorten the next restart delay only after such proof, never after a mere start.
        """
        self._life.thrived = True

    @property
    def nursery(self) -> trio.Nursery:
        """The nursery of this life, for `nursery.start` and for code that wants one handed in."""
        return self._life.nursery
