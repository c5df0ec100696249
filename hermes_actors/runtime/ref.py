"""The address of an actor. It can be handed around, and it stays valid across restarts."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec
import trio

from hermes_actors.errors import ActorGone, Refusal
from hermes_actors.runtime.mailbox import Mailbox

M = TypeVar("M")


class Down(msgspec.Struct, frozen=True):
    """Control message to a watcher: this actor has ended and nobody will restart it."""

    name: str
    reason: str


class Ref(Generic[M]):
    """How everybody else sees an actor.

    Work goes through a bounded lane and is done one piece at a time: `tell`, `ask`. Control goes
    round it and has taken effect when the call returns: `signal`, `interrupt`, `stop`, `drain`.
    All of these but `ask` and `joined` are plain calls, so they work in `finally` blocks.
    """

    __slots__ = ("_box", "name")

    def __init__(self, name: str, box: Mailbox[M] | None) -> None:
        self.name, self._box = name, box

    def __repr__(self) -> str:
        return f"<Ref {self.name}>"

    def __eq__(self, other: object) -> bool:
        """Two refs are equal when they lead to the same place, however they were come by."""
        return isinstance(other, Ref) and self._place() == other._place()

    def __hash__(self) -> int:
        return hash(self._place())

    def tell(self, message: M) -> None:
        """Queue work and go on. Raises `MailboxFull` or `ActorGone`; nothing was taken then."""
        self._open().put(message)

    async def ask(self, message: M) -> Any:
        """Queue work and wait for its answer; waits for room if the lane is full.

        The deadline is yours: `with trio.fail_after(5): await ref.ask(question)`. Cancelling
        withdraws the question: if it has not begun it never will, and if it is in hand it is cut
        (unless the actor says `withdraw_cuts = False`). Raises `ActorGone` if no answer can come.
        """
        try:
            box = self._open()
        except Refusal as no:
            refusal = no
        else:
            return await box.put_question(message)
        await trio.lowlevel.checkpoint()  # an asker in a loop must not starve the house
        raise refusal

    def signal(self, message: object) -> bool:
        """Let the living actor handle a control message now, inside this call.

        False when nobody lives at this address at the moment, so there is nothing to control.
        """
        box = self._peek()
        return box is not None and box.life is not None and box.life.signal(message)

    def interrupt(
        self, reason: str, *, drop_queued: bool = False, number: int | None = None
    ) -> bool:
        """Cut the work in hand; False when there is none, or when it is not the given `number`.

        When this returns, the work's scope is cancelled. `drop_queued` also removes what waits
        in the lane; the actor hears of each through `on_dropped`.
        """
        box = self._peek()
        return (
            box is not None
            and box.life is not None
            and box.life.interrupt(reason, drop_queued=drop_queued, number=number)
        )

    def stop(self, reason: str) -> None:
        """End the actor: its work is cut, its children are cancelled, `stopped()` runs."""
        box = self._peek()
        if box is not None and box.life is not None:
            box.life.stop(reason)

    def drain(self, reason: str) -> None:
        """Refuse new work, let the rest be done, then end. `stop` may still cut it short."""
        box = self._peek()
        if box is not None and box.life is not None:
            box.life.drain(reason)

    def watch(self, watcher: Ref[Any]) -> None:
        """Send `watcher` a `Down` by control when this actor has ended; at once if it has."""
        box = self._peek()
        if box is None or box.closed is not None:
            watcher.signal(Down(self.name, "not running" if box is None else str(box.closed)))
        else:
            box.watch(watcher)

    def unwatch(self, watcher: Ref[Any]) -> None:
        """Take back one `watch`."""
        box = self._peek()
        if box is not None:
            box.unwatch(watcher)

    async def joined(self) -> str:
        """Wait until the actor has ended for good; the reason."""
        box = self._peek()
        if box is None:
            await trio.lowlevel.checkpoint()
            return "not running"
        return await box.wait_closed()

    @property
    def alive(self) -> bool:
        """A life is behind this address right now."""
        box = self._peek()
        return box is not None and box.life is not None

    @property
    def depth(self) -> int:
        """How many messages wait."""
        box = self._peek()
        return 0 if box is None else len(box)

    def _open(self) -> Mailbox[M]:
        if self._box is None:
            raise ActorGone(self.name, "it was never started")
        return self._box

    def _peek(self) -> Mailbox[M] | None:
        return self._box

    def _place(self) -> tuple[str, int]:
        return self.name, id(self._box)
