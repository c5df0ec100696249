"""One conversation as an actor: it takes messages in order, and runs one turn at a time.

    idle ──► running ──► stopping ──► idle        and: draining

What people send is in the store before a session hears of it; a `Wake` only says that there is
something to look at. So the session keeps no queue of its own: it can crash, unload and come back,
and still answer everything once and in order.

The turn is a child task. The session itself stays responsive: a stop arrives as control, in the
sender's own step, whatever the turn is doing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import takewhile

import msgspec
import trio

from hermes_actors.actors.house import House
from hermes_actors.actors.orphans import bury_orphans_of
from hermes_actors.actors.turn import HOOKS_WITHIN, Order, Queue, Turn
from hermes_actors.actors.voice import Voice
from hermes_actors.context import SessionContext, bound
from hermes_actors.errors import StoreRefused
from hermes_actors.hooks.events import MessageWithdrawn
from hermes_actors.pure.backoff import Backoff
from hermes_actors.pure.endings import Stopped
from hermes_actors.runtime import Actor
from hermes_actors.store import bindings, inbox, runs
from hermes_actors.store.inbox import InboxMessage
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.runs import NewRun
from hermes_actors.store.sessions import NewSession
from hermes_actors.values import Inbound, Source

_PAUSES = Backoff(first=1.0, most=30.0)
_MOST_TOGETHER = 32
Drive = Callable[[Turn], Awaitable[None]]


class Wake(msgspec.Struct, frozen=True):
    """Something waits in the inbox of this conversation."""


class StopRun(msgspec.Struct):
    """Control: stop the run in progress. The session fills in `hit`, in the sender's step.

    `run_id` None means whatever runs now; a stop that names a run which is over hits nothing.
    """

    reason: Stopped
    run_id: str | None = None
    drop_queued: bool = False
    hit: str | None = None


class Look(msgspec.Struct):
    """Control: how is it? The session fills in the answer, in the asker's step."""

    state: str = "idle"
    run_id: str | None = None
    phase: str = ""


SessionMessage = Wake


class Session(Actor[SessionMessage]):
    """The conversation behind one session key."""

    def __init__(self, key: str, house: House, drive: Drive, *, batch_delay: float = 0.0) -> None:
        self._key, self._house, self._drive = key, house, drive
        self._batch_delay = batch_delay
        self._turn: Turn | None = None
        self._serving = self._woken = self._draining = False
        self._drop_queued = False

    # Work ------------------------------------------------------------------------------------

    async def started(self) -> None:
        """Bring what an earlier life left in the middle to its end, then look for work."""
        await bury_orphans_of(self._house, self._key)
        self._begin_serving()

    async def receive(self, message: SessionMessage) -> None:
        """There is something to look at."""
        self._begin_serving()

    def _begin_serving(self) -> None:
        self._woken = True
        if not self._serving and not self._draining:
            self._serving = True
            self.spawn(self._serve, name=f"turns of {self._key}")

    async def _serve(self) -> None:
        """Answer what waits, one turn after the other, until nothing does."""
        failures = 0
        try:
            while self._woken and not self._draining:
                try:
                    await self._answer_next()
                    failures = 0
                except StoreRefused as no:
                    # What waits is safe where it is; whether it can be served depends on the disk.
                    self._house.journal.note("session.waits", session=self._key, reason=no.kind)
                    await trio.sleep(_PAUSES.ceiling(failures))
                    failures += 1
        finally:
            self._serving = False

    async def _answer_next(self) -> None:
        # Before the look, not after it: whoever wakes us meanwhile may not be in what we see.
        self._woken = False
        try:
            batch = await self._next_batch()
            if batch and not self._draining:
                await self._run(*await self._begin(batch))
                self._woken = True
        except StoreRefused:
            self._woken = True
            raise

    async def _next_batch(self) -> list[InboxMessage]:
        """The first message that waits, with those that belong to it."""
        waiting = await self._waiting()
        if waiting and self._batch_delay:
            # People send one thought in several messages, and clients split long ones.
            await trio.sleep(self._batch_delay)
            waiting = await self._waiting()
            return _same_sender(waiting)
        return waiting[:1]

    async def _waiting(self) -> list[InboxMessage]:
        return await self._house.store.read(inbox.queued(self._key, limit=_MOST_TOGETHER))

    async def _begin(self, batch: list[InboxMessage]) -> tuple[Order, Inbound]:
        """Take the messages in hand. When this returns, there is a run, and it must be run."""
        house, said = self._house, [_decoded(message) for message in batch]
        last = said[-1]
        new = _new_session(house, self._key, batch[0].agent_id, last.source)
        opened = await house.store.write(bindings.open_session(new, now=house.now()))
        order = Order(
            run_id=house.new_id("run"),
            session_id=opened.session.id,
            session_key=self._key,
            agent=house.agent(opened.session.agent_id),
            source=last.source,
            text="\n".join(each.text for each in said),
            keys=tuple(each.key for each in batch),
            is_first=opened.session.message_count == 0,
        )
        self._turn = Turn(
            order,
            house,
            Voice(house.feeds.of(self._key), order.run_id),
            self._drive,
            cut_by=self._cut_by,
            queue=self._settle_queue,
        )
        try:
            await self._claim(order, [each.id for each in batch], last)
        except BaseException:
            self._turn = None  # nothing was taken in hand: the messages wait as before
            raise
        return order, last

    async def _claim(self, order: Order, ids: list[int], last: Inbound) -> None:
        try:
            await self._write_claim(order, ids, last)
        except StoreRefused as no:
            if no.kind != "conflict":
                raise
            # An earlier run could not be ended when the store was down. It can be now.
            await bury_orphans_of(self._house, self._key)
            await self._write_claim(order, ids, last)

    async def _write_claim(self, order: Order, ids: list[int], last: Inbound) -> None:
        house = self._house
        run = NewRun(
            id=order.run_id,
            session_id=order.session_id,
            session_key=self._key,
            agent_id=order.agent.id,
            platform=order.source.platform,
        )
        words = NewMessage(role="user", content=order.text, platform_message_id=last.message_id)
        begin = runs.begin(run, now=house.now(), claim=ids, said=[words])
        await trio.lowlevel.checkpoint_if_cancelled()
        # Shielded, so that a run which has begun is always run: between the commit and the
        # turn's own `finally` there must be no place where a cancellation could fall in.
        with trio.CancelScope(shield=True, deadline=trio.current_time() + house.limits.seal_within):
            await house.store.write(begin)
            house.journal.note(
                "run.started",
                run=order.run_id,
                session=order.session_id,
                agent=order.agent.id,
                key=order.keys[0],
            )
            return
        raise StoreRefused("busy", "the store did not answer in time")

    async def _run(self, order: Order, last: Inbound) -> None:
        turn = self._turn
        assert turn is not None
        try:
            with bound(_context(order, last, self._house)):
                await turn.run()
        finally:
            self._turn, self._drop_queued = None, False

    async def _settle_queue(self) -> Queue:
        """What a stop says about the messages behind it; drops them if it was told to."""
        dropped = await self._withdraw() if self._drop_queued else 0
        return Queue(len(await self._waiting()), dropped)

    async def _withdraw(self) -> int:
        house = self._house
        gone = await house.store.write(inbox.withdraw(self._key, now=house.now()))
        for message in gone:
            house.journal.note("inbound.ended", key=message.key, state="stopped")
        if gone:
            self.spawn(self._tell_withdrawn, gone)
        return len(gone)

    async def _tell_withdrawn(self, gone: list[InboxMessage]) -> None:
        with trio.move_on_after(HOOKS_WITHIN, shield=True):
            for message in gone:
                event = MessageWithdrawn(
                    session_key=self._key,
                    platform=message.platform,
                    agent_id=message.agent_id,
                    message_id=message.key,
                    reason="stop_command",
                )
                await self._house.bus.fire(event)

    # Control: in the sender's step -----------------------------------------------------------

    def on_signal(self, message: object) -> None:
        """Stop, or tell how it is."""
        match message:
            case StopRun():
                self._stop(message)
            case Look():
                self._show(message)

    def _stop(self, wish: StopRun) -> None:
        turn = self._turn
        meant = turn is not None and wish.run_id in (None, turn.run_id)
        if turn is not None and meant and turn.ending is None:
            self._drop_queued = wish.drop_queued
            turn.stop(wish.reason)
            wish.hit = turn.run_id
        elif wish.drop_queued and wish.run_id is None:
            self.spawn(self._withdraw)

    def _show(self, look: Look) -> None:
        if self._turn is not None:
            look.run_id, look.phase = self._turn.run_id, self._turn.phase
            look.state = "running" if self._turn.ending is None else "stopping"
        elif self._draining:
            look.state = "draining"

    def on_drain(self) -> None:
        """Begin nothing new; the turn in progress may finish."""
        self._draining = True

    def may_unload(self) -> bool:
        """Not while somebody is being answered."""
        return self._turn is None

    async def stopped(self) -> None:
        """Leave nothing in memory that nobody looks at."""
        self._house.feeds.release(self._key)

    def _cut_by(self) -> Stopped:
        return "shutdown" if self._draining else "supervisor"


def _same_sender(waiting: list[InboxMessage]) -> list[InboxMessage]:
    """The first message and those that follow it from the same person."""
    if not waiting:
        return []
    first = _decoded(waiting[0]).source
    together = takewhile(lambda each: _decoded(each).source.user_id == first.user_id, waiting)
    return list(together)


def _decoded(message: InboxMessage) -> Inbound:
    return msgspec.json.decode(message.payload, type=Inbound)


def _new_session(house: House, key: str, agent: str, source: Source) -> NewSession:
    return NewSession(
        id=house.new_id("session"),
        session_key=key,
        agent_id=agent,
        platform=source.platform,
        source=msgspec.json.encode(source).decode(),
        display_name=source.chat_name or source.user_name,
    )


def _context(order: Order, last: Inbound, house: House) -> SessionContext:
    source = order.source
    return SessionContext(
        platform=source.platform,
        source=source.platform,
        chat_id=source.chat_id,
        chat_name=source.chat_name or "",
        thread_id=source.thread_id or "",
        user_id=source.user_id or "",
        user_name=source.user_name or "",
        session_key=order.session_key,
        session_id=order.session_id,
        message_id=last.message_id or "",
        profile=order.agent.id,
        async_delivery=house.surface(source.platform).supports_async_delivery,
    )
