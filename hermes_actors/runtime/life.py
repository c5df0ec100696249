"""One run of one actor, from `started` to `stopped`.

A life reads its mailbox, does the work, and hears control in the sender's step. How it ended is
returned as a value, because every way of ending is expected by a supervisor. Only a cancellation
from outside passes through, as Trio wants it.

Two scopes make control exact. The scope of the life's nursery is what `stop` cancels; the work's
scope is what `interrupt` cancels. The latter serves message after message until it is used, and
then a new one takes its place before the next message is read: entering a scope costs more than
all the rest of handing a message over. Since both are cancelled inside the caller's step, and
`in_hand` names the message that is meant, a late interrupt can never hit the next one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from enum import StrEnum
from typing import Any, Generic, TypeVar, TypeVarTuple

import msgspec
import trio

from hermes_actors.errors import ActorGone, Refusal
from hermes_actors.journal import Journal
from hermes_actors.runtime.actor import Actor
from hermes_actors.runtime.crash import in_words, separate
from hermes_actors.runtime.mailbox import Envelope, Mailbox, Reply, Woken
from hermes_actors.runtime.ref import Ref
from hermes_actors.runtime.tree import Node, waiting

M = TypeVar("M")
Args = TypeVarTuple("Args")


class How(StrEnum):
    """The ways in which a life can end."""

    STOPPED = "stopped"
    DRAINED = "drained"
    UNLOADED = "unloaded"
    CRASHED = "crashed"
    CANCELLED = "cancelled"


class Ended(msgspec.Struct, frozen=True):
    """How a life ended. `error` holds every cause of a crash, as one exception or a group."""

    how: How
    reason: str
    error: Exception | None = None
    thrived: bool = False


class Life(Generic[M]):
    """Runs one actor object on one mailbox, once."""

    __slots__ = (
        "_actor",
        "_box",
        "_clean_up_after",
        "_ending",
        "_error",
        "_how",
        "_journal",
        "_owed",
        "_phase",
        "_put_off",
        "_put_off_in",
        "_reason",
        "_reply",
        "_scope",
        "_start_within",
        "_told",
        "_work",
        "began",
        "in_hand",
        "interrupted_by",
        "nursery",
        "task",
        "thrived",
    )

    def __init__(
        self,
        actor: Actor[M],
        box: Mailbox[M],
        journal: Journal,
        *,
        grace: float = 5.0,
        start_within: float = 30.0,
    ) -> None:
        self._actor, self._box, self._journal = actor, box, journal
        self._clean_up_after, self._start_within = grace, start_within
        self._scope, self._work = _NO_SCOPE, _NO_SCOPE
        self._how, self._reason = How.CANCELLED, "cancelled from outside"
        self._ending = False
        self._error: Exception | None = None
        self._owed: set[Reply] | None = None
        self._put_off: list[Reply] | None = None
        self._put_off_in: int | None = None
        self._reply: Reply | None = None
        self._told = False
        self._phase = "starting"
        self.task: trio.lowlevel.Task | None = None
        self.nursery: trio.Nursery
        self.began = box.idle_since = trio.current_time()
        self.in_hand: int | None = None
        self.interrupted_by: str | None = None
        self.thrived = False
        actor._life = self
        if not hasattr(actor, "ref"):
            actor.ref = Ref(box.name, box)
        if box.closed is None:
            box.refusing = None  # an earlier life may have been drained before a restart

    @property
    def phase(self) -> str:
        """One word for `ps`: starting, idle, working, finishing or stopping."""
        return self._phase if self.in_hand is None else "working"

    @property
    def idle_since(self) -> float:
        """When this life last began to wait for work."""
        return self._box.idle_since

    async def run(self, started: Callable[[], None] = lambda: None) -> Ended:
        """Live. Returns how it ended; raises only what is not ours to keep (`Cancelled`)."""
        foreign: BaseException | None = None
        if self._box.life is not None:
            raise RuntimeError(f"'{self._box.name}' is alive; an address has one life at a time")
        self.task = trio.lowlevel.current_task()
        self._box.life = self
        try:
            await self._live(started)
        except BaseException as error:  # noqa: BLE001, ASYNC103  what is not ours is raised below
            foreign = self._crash_apart_from(error)
        self._leave()
        try:
            await self._clean_up()
        except BaseException as error:  # noqa: BLE001, ASYNC103  as above
            foreign = self._crash_apart_from(error) or foreign
        self._conclude()
        if foreign is not None:
            raise foreign
        return Ended(self._how, self._reason, self._error, self.thrived)

    async def _live(self, started: Callable[[], None]) -> None:
        async with trio.open_nursery() as self.nursery:
            self._scope = self.nursery.cancel_scope
            if self._ending:
                self._scope.cancel(self._reason)  # ended before it began
            with trio.fail_after(self._start_within):
                await self._actor.started()
            self._phase = "idle"
            self._journal.note("actor.started", actor=self._box.name)
            started()
            while self._box.refusing is None or len(self._box):
                await self._work_until_cut()
            self._phase = "finishing"
        self._end(How.DRAINED, self._box.refusing or "drained")

    async def _work_until_cut(self) -> None:
        """Work inside one scope, until an interrupt has used it up or some work is refused."""
        why = "its work was cut"
        try:
            with trio.CancelScope() as self._work:
                await self._work_in_order()
            why = f"interrupted: {self.interrupted_by}"
        except Woken:
            pass
        except Refusal as no:
            why = f"refused: {no}"
            self._refuse(no)
        except Exception as crash:
            why = f"crashed: {in_words(crash)}"
            raise
        finally:
            self._disappoint(self._why_cut(why))
            self.in_hand, self._reply, self._work = None, None, _NO_SCOPE

    async def _work_in_order(self) -> None:
        # The hot path of every actor: one message costs one checkpoint and no scope of its own.
        # That checkpoint comes before the next message is taken out, so a scope that was spent
        # on work which ended without noticing is left there, and hits nobody.
        box, actor = self._box, self._actor
        while box.refusing is None or len(box):
            envelope = await box.take()
            self.in_hand, self.interrupted_by = envelope.number, None
            self._reply = envelope.reply
            self._told = envelope.reply is None
            answer = await actor.receive(envelope.message)
            if self.interrupted_by is not None:
                return  # too late: who cut this work was told so, and its asker hears the same
            if self._reply is not None:
                self._reply.answer(answer)
                self._reply = None
            self.in_hand = None
            del envelope, answer  # nobody should keep them alive while waiting for the next

    def _refuse(self, no: Refusal) -> None:
        """A refusal is an answer, not a crash; one that nobody asked for is recorded."""
        if self._told:
            self._journal.note("work.refused", actor=self._box.name, reason=in_words(no))
        for reply in (self._reply, *self._put_off_now()):
            if reply is not None and reply.number == self.in_hand:
                reply.refuse(no)

    def _disappoint(self, why: str) -> None:
        """Work that did not return answers nobody: neither its asker nor those it put off."""
        for reply in (self._reply, *self._put_off_now()):
            if reply is not None and reply.open:
                reply.refuse(ActorGone(self._box.name, why))

    def _put_off_now(self) -> Sequence[Reply]:
        is_of_this_work = self.in_hand is not None and self._put_off_in == self.in_hand
        return self._put_off or () if is_of_this_work else ()

    def _why_cut(self, why: str) -> str:
        return self._reason if self._how is How.STOPPED else why

    def _leave(self) -> None:
        """From here on nobody can control this life; those it owes an answer are told."""
        self._phase = "stopping"
        if self._box.life is self:
            self._box.life = None
        for reply in tuple(self._owed or ()):
            reply.refuse(ActorGone(self._box.name, self._gone_because()))

    def _gone_because(self) -> str:
        return f"crashed: {in_words(self._error)}" if self._error is not None else self._reason

    async def _clean_up(self) -> None:
        with trio.move_on_after(self._clean_up_after, shield=True) as grace:
            await self._actor.stopped()
        if grace.cancelled_caught:
            self._journal.note(
                "actor.cleanup_cut", actor=self._box.name, after=self._clean_up_after
            )

    def _conclude(self) -> None:
        name = self._box.name
        self._journal.note("mailbox.depth", actor=name, depth=self._box.peak)
        if self._error is not None:
            self._how, self._reason = How.CRASHED, self._gone_because()
            self._journal.note("actor.crashed", actor=name, error=in_words(self._error))
        self._journal.note("actor.ended", actor=name, how=self._how.value, reason=self._reason)

    def _crash_apart_from(self, error: BaseException) -> BaseException | None:
        """Keep what is a crash of this actor; give back what belongs to somebody else."""
        crash, foreign = separate(error)
        if crash is not None and self._error is not None:
            crash = ExceptionGroup("more than one crash", [self._error, crash])
        self._error = crash or self._error
        return foreign

    # Control: each of these runs in the sender's step ----------------------------------------

    def signal(self, message: object) -> bool:
        """Hand `message` to the actor; a raise there is the actor's crash, not the sender's."""
        return self._call(self._actor.on_signal, message) is not _CRASHED

    def _call(self, handler: Callable[[*Args], object], *args: *Args) -> object:
        """Call into the actor from somebody else's step: whatever it raises is its own crash."""
        try:
            return handler(*args)
        except Exception as crash:  # noqa: BLE001  kept, and read by the supervisor
            self._crash_apart_from(crash)
            self._end(How.CRASHED, f"control handler crashed: {in_words(crash)}")
            return _CRASHED

    def interrupt(self, reason: str, *, drop_queued: bool, number: int | None) -> bool:
        """Cut the work in hand, if it is the one that is meant."""
        if number is not None and number != self.in_hand:
            return False
        if drop_queued:
            for envelope in tuple(self._box.drain()):
                self._drop(envelope, reason)
        if self.in_hand is None:
            return False
        self._cut(reason)
        return True

    def asker_left(self, number: int) -> None:
        """The asker of `number` was cancelled; cut that work if the actor wants it so.

        Not if its answer was put off: then the work in hand may be somebody else's as well.
        """
        is_its_own = number == self.in_hand and self._reply is not None
        if is_its_own and self._actor.withdraw_cuts:
            self._cut("the asker left")

    def stop(self, reason: str) -> None:
        """End this life now."""
        self._end(How.STOPPED, reason)

    def drain(self, reason: str) -> None:
        """Close the lane; the life ends by itself when the work and the children are done."""
        if self._box.refusing is None:
            self._box.seal(reason)
            self._call(self._actor.on_drain)
            self._box.wake()

    def unload(self) -> bool:
        """End an idle life so that the address costs nothing; False when it is not idle."""
        if self._ending or not self._is_idle():
            return False
        may = self._call(self._actor.may_unload)
        if may is _CRASHED or not may:
            return False
        self._end(How.UNLOADED, "idle")
        return True

    def _is_idle(self) -> bool:
        busy = len(self._box) or self.nursery.child_tasks or self._owed
        return self.phase == "idle" and not busy

    def forsake(self, reason: str) -> None:
        """The address is closed though this life clings to it: nobody waits for it any more."""
        for reply in (self._reply, *(self._owed or ())):
            if reply is not None:
                reply.refuse(ActorGone(self._box.name, reason))

    def _end(self, how: How, reason: str) -> None:
        if not self._ending:
            self._ending, self._how, self._reason = True, how, reason
            if self._scope is not _NO_SCOPE:
                self._scope.cancel(reason)

    def _cut(self, reason: str) -> None:
        if self.interrupted_by is None:
            self.interrupted_by = reason
        self._work.cancel(reason)

    def _drop(self, envelope: Envelope, reason: str) -> None:
        if envelope.reply is not None:
            envelope.reply.refuse(ActorGone(self._box.name, f"dropped: {reason}"))
        self._call(self._actor.on_dropped, envelope.message)

    def describe(self, restarts: int = 0) -> Node:
        """This life as a line of `ps`."""
        return Node(
            name=self._box.name,
            kind=type(self._actor).__name__,
            state=self.phase,
            age=trio.current_time() - self.began,
            restarts=restarts,
            **waiting(self._box),
        )

    # For the actor itself --------------------------------------------------------------------

    def refused_work(self, depth: int) -> None:
        self._journal.note("mailbox.refused", actor=self._box.name, lane="work", depth=depth)

    def spawn(
        self,
        async_fn: Callable[[*Args], Awaitable[object]],
        *args: *Args,
        name: object,
    ) -> None:
        Context().run(lambda: self.nursery.start_soon(async_fn, *args, name=name))

    def reply_later(self) -> Reply | None:
        reply, self._reply = self._reply, None
        if reply is not None:
            self._owe(reply)
        return reply

    def take_queued(self, limit: int) -> list[tuple[Any, Reply | None]]:
        more = self._box.take_more(limit)
        for envelope in more:
            if envelope.reply is not None:
                self._owe(envelope.reply)
        return [(envelope.message, envelope.reply) for envelope in more]

    def _owe(self, reply: Reply) -> None:
        if self._owed is None:
            self._owed = set()  # most actors answer at once and never owe
        reply.owed_in(self._owed)
        if self._put_off is None or self._put_off_in != self.in_hand:
            self._put_off, self._put_off_in = [], self.in_hand
        self._put_off.append(reply)


_NO_SCOPE = trio.CancelScope()
_CRASHED = object()
