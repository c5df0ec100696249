"""One conversation as an actor: it takes messages in order, and runs one turn at a time.

    idle ──► running ──► stopping ──► idle        and: draining

What people send is in the store before a session hears of it; a `Wake` only says that there is
something to look at. So the session keeps no queue of its own: it can crash, unload and come back,
and still answer everything once and in order.

The turn is a child task. The session itself stays responsive: a stop arrives as control, in the
sender's own step, whatever the turn is doing. What changes the conversation itself, such as a new
one in its place, is done by the same task that runs the turns, so it is never done during one.
"""

from __future__ import annotations

from collections import deque

import trio

from hermes_actors.actors.assignment import Assignment, assigned
from hermes_actors.actors.assignment import Drive as Drive
from hermes_actors.actors.house import House
from hermes_actors.actors.orphans import bury_orphans_of
from hermes_actors.actors.signals import Between, Busy, Decided, Steer
from hermes_actors.actors.signals import Look as Look
from hermes_actors.actors.signals import StopRun as StopRun
from hermes_actors.actors.signals import Wake as Wake
from hermes_actors.actors.taking import Manners, context_of, together
from hermes_actors.actors.turn import Queue, Turn
from hermes_actors.actors.undeliverable import announce_dead, turn_away
from hermes_actors.actors.voice import Voice
from hermes_actors.actors.withdrawal import tell_withdrawn, withdraw
from hermes_actors.context import bound
from hermes_actors.errors import Overloaded, Refusal, StoreRefused
from hermes_actors.pure.backoff import Backoff
from hermes_actors.pure.endings import Stopped
from hermes_actors.runtime import Actor
from hermes_actors.runtime.mailbox import Reply
from hermes_actors.store import inbox
from hermes_actors.store.inbox import InboxMessage

_PAUSES = Backoff(first=1.0, most=30.0)
_GLANCES = Backoff(first=0.01, most=1.0)
"""Between two looks at what waits, when a message was taken back while we reached for it."""
_MOST_TOGETHER = 32
_MOST_JOBS = 32


class Session(Actor[Wake]):
    """The conversation behind one session key."""

    def __init__(
        self,
        key: str,
        house: House,
        drive: Drive,
        *,
        batch_delay: float = 0.0,
        manners: Manners | None = None,
    ) -> None:
        self._key, self._house, self._drive = key, house, drive
        self._batch_delay, self._manners = batch_delay, manners or Manners()
        self._turn: Turn | None = None
        self._unsettled: Turn | None = None
        self._jobs: deque[tuple[Between, Reply | None]] = deque()
        self._serving = self._woken = self._draining = False
        self._drop_queued = False

    # Work ------------------------------------------------------------------------------------

    async def started(self) -> None:
        """Bring what an earlier life left in the middle to its end, then look for work."""
        await self._bury()
        self._begin_serving()

    async def _bury(self) -> None:
        """End what nobody lives for; some of its messages may have crashed us once too often."""
        if await bury_orphans_of(self._house, self._key):
            await announce_dead(self._house)

    async def receive(self, message: Wake) -> None:
        """There is something to look at, or something to do between two turns."""
        if isinstance(message, Between):
            self._accept_job(message)
        self._begin_serving()

    def _accept_job(self, job: Between) -> None:
        if self._turn is not None:
            if job.cuts is None:
                raise Busy("a run is in progress")
            self._turn.stop(job.cuts)
        if len(self._jobs) >= _MOST_JOBS:
            raise Overloaded("this conversation has enough to do; try again in a moment")
        self._jobs.append((job, self.reply_later()))

    def _begin_serving(self) -> None:
        self._woken = True
        if not self._serving and not self._draining:
            self._serving = True
            self.spawn(self._serve, name=f"turns of {self._key}")

    async def _serve(self) -> None:
        """Do what is to be done and answer what waits, one after the other, until nothing does."""
        failures = 0
        try:
            while (self._jobs or self._woken) and not self._draining:
                try:
                    await self._settle_last()
                    await (self._do_next() if self._jobs else self._answer_next())
                    failures = 0
                except StoreRefused as no:
                    # What waits is safe where it is; whether it can be served depends on the disk.
                    self._house.journal.note("session.waits", session=self._key, reason=no.kind)
                    pauses = _GLANCES if no.kind == "conflict" else _PAUSES
                    await trio.sleep(pauses.ceiling(failures))
                    failures += 1
        finally:
            self._serving = False

    async def _settle_last(self) -> None:
        """A run that was over, and could not be stored as such, is so first of all."""
        if self._unsettled is not None:
            await self._unsettled.settle()
            self._unsettled = None

    async def _do_next(self) -> None:
        job, reply = self._jobs.popleft()
        if reply is None or not reply.open:
            return  # whoever wanted it has left before it began
        try:
            reply.answer(await job.do())
        except Refusal as no:
            reply.refuse(no)

    async def _answer_next(self) -> None:
        # Before the look, not after it: whoever wakes us meanwhile may not be in what we see.
        self._woken = False
        try:
            batch, more = await self._next_batch()
            if batch and not self._draining:
                await self._answer(batch)
                # What was not there at the look has woken us, so another look would be in vain.
                self._woken = self._woken or more or self._unsettled is not None
        except StoreRefused:
            self._woken = True
            raise

    async def _answer(self, batch: list[InboxMessage]) -> None:
        try:
            taken = await assigned(self._house, self._key, batch, self._drive, self._manners)
        except StoreRefused:
            raise
        except Refusal as no:
            await turn_away(self._house, batch, str(no))
            return
        # No `await` from here to the turn: a job that came before sees no turn and is waited for,
        # and one that comes later finds the turn and can cut it.
        if self._jobs or self._draining:
            return  # the job has woken us, so these messages are looked at again after it
        self._turn = self._turn_of(taken)
        try:
            await self._claim(taken)
        except BaseException:
            self._turn = None  # nothing was taken in hand: the messages wait as before
            raise
        await self._run(taken)

    async def _next_batch(self) -> tuple[list[InboxMessage], bool]:
        """The first message that waits, with those that belong to it; and whether more wait."""
        waiting = await self._waiting()
        if waiting and self._batch_delay:
            await trio.sleep(self._batch_delay)
            waiting = await self._waiting()
            batch = together(waiting)
        else:
            batch = waiting[:1]
        return batch, len(waiting) > len(batch)

    async def _waiting(self) -> list[InboxMessage]:
        return await self._house.store.read(inbox.queued(self._key, limit=_MOST_TOGETHER))

    def _turn_of(self, taken: Assignment) -> Turn:
        return Turn(
            taken.order,
            self._house,
            Voice(self._house.feeds.of(self._key), taken.order.run_id),
            taken.drive,
            cut_by=self._cut_by,
            queue=self._settle_queue,
        )

    async def _claim(self, taken: Assignment) -> None:
        try:
            await self._write_claim(taken)
        except StoreRefused as no:
            if no.kind != "conflict":
                raise
            # An earlier run could not be ended when the store was down. It can be now.
            await self._bury()
            await self._write_claim(taken)

    async def _write_claim(self, taken: Assignment) -> None:
        house, order = self._house, taken.order
        await trio.lowlevel.checkpoint_if_cancelled()
        # Shielded, so that a run which has begun is always run: between the commit and the
        # turn's own `finally` there must be no place where a cancellation could fall in.
        with trio.CancelScope(shield=True, deadline=trio.current_time() + house.limits.seal_within):
            await house.store.write(taken.begin)
            house.journal.note(
                "run.started",
                run=order.run_id,
                session=order.session_id,
                agent=order.agent.id,
                key=order.keys[0],
            )
            return
        raise StoreRefused("busy", "the store did not answer in time")

    async def _run(self, taken: Assignment) -> None:
        turn = self._turn
        assert turn is not None
        try:
            with bound(context_of(taken.order, taken.last, self._house)):
                end = await turn.run()
            self._unsettled = None if end.sealed else turn
        finally:
            self._turn, self._drop_queued = None, False

    async def _settle_queue(self) -> Queue:
        """What a stop says about the messages behind it; drops them if it was told to."""
        gone = await withdraw(self._house, self._key) if self._drop_queued else []
        if gone:
            self.spawn(tell_withdrawn, self._house, gone)
        return Queue(len(await self._waiting()), len(gone))

    # Control: in the sender's step -----------------------------------------------------------

    def on_signal(self, message: object) -> None:
        """Stop, steer, pass on an answer, or tell how it is."""
        match message:
            case StopRun():
                self._stop(message)
            case Steer():
                turn = self._turn
                if turn is not None and turn.run_id == message.run_id:
                    message.taken = turn.steer(message.inbox, message.text)
            case Decided(approval):
                if self._turn is not None:
                    self._turn.decided(approval)
            case Look():
                self._show(message)

    def _stop(self, wish: StopRun) -> None:
        turn = self._turn
        meant = turn is not None and wish.run_id in (None, turn.run_id)
        if turn is not None and meant and turn.ending is None:
            self._drop_queued = wish.drop_queued
            turn.stop(wish.reason)
            wish.hit = turn.run_id

    def _show(self, look: Look) -> None:
        turn = self._turn
        if turn is not None:
            look.run_id, look.phase = turn.run_id, turn.phase
            look.keys, look.tools = turn.order.keys, turn.calls.names
            look.state = "running" if turn.ending is None else "stopping"
        elif self._draining:
            look.state = "draining"

    def on_drain(self) -> None:
        """Begin nothing new; the turn in progress may finish."""
        self._draining = True

    def may_unload(self) -> bool:
        """Not while somebody is being answered."""
        return self._turn is None and not self._jobs

    async def stopped(self) -> None:
        """Leave nothing in memory that nobody looks at."""
        self._house.feeds.release(self._key)

    def _cut_by(self) -> Stopped:
        return "shutdown" if self._draining else "supervisor"
