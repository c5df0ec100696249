"""A message is made durable, and then whoever is concerned hears of it.

Commit first: only then is the conversation woken, or the run in progress told of the message
(`steer`) or stopped for it (`interrupt`). Should that come too late, the message waits like any
other, so nothing depends on who is faster.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import trio

from hermes_actors.actors.house import House
from hermes_actors.actors.receipts import Address, Answered, Ignored, Kept, Receipt
from hermes_actors.actors.signals import Look, Steer, StopRun, Wake
from hermes_actors.actors.taking import Work, spoken
from hermes_actors.errors import MailboxFull, Refusal, StoreRefused
from hermes_actors.hooks.events import PreGatewayDispatch
from hermes_actors.pure.session_keys import Grouping
from hermes_actors.runtime import Registry
from hermes_actors.store import inbox
from hermes_actors.store.inbox import InboxMessage, NewInbox

ACCEPT_WITHIN = 10.0
BusyMode = Literal["queue", "steer", "interrupt"]

LATER = "Queued as number {place}: it is answered after the run in progress."
TOLD = (
    "The run in progress will read this with its next tool result. If there is none any more, it "
    "is answered afterwards."
)
TOO_LATE = "The run in progress can take nothing more in. {queued}"
TAKES_OVER = "Stopping the run in progress; this comes next."
PUT_ASIDE = (
    "Your message is kept, but this conversation had to be put aside after crashing again and "
    "again. It is answered when the operator lets it go on, or after a restart."
)
NOT_NOW = "Your message is kept, and answered as soon as this gateway takes up work again."


class Keeper:
    """Keeps messages for conversations; at most `room` wait in one."""

    def __init__(
        self,
        house: House,
        sessions: Registry[Wake],
        grouping: Grouping | None = None,
        room: int = 1000,
    ) -> None:
        self._house, self._sessions = house, sessions
        self._grouping, self._room = grouping or Grouping(), room

    async def keep(self, address: Address, work: Work, mode: BusyMode = "queue") -> Receipt:
        """Ask the policies, make the work durable, and have it done.

        Cancelling is safe: a platform that is not told that we have a message sends it again,
        and the same key is the same message.
        """
        allowed = await self._allowed(address, work)
        if isinstance(allowed, Ignored):
            return allowed
        try:
            self._house.agent(address.agent_id)
        except Refusal as no:
            return Answered(address.session_key, str(no))
        return await self._accept(address, allowed, mode)

    async def _accept(self, address: Address, work: Work, mode: BusyMode) -> Kept:
        new = NewInbox(
            key=work.key,
            session_key=address.session_key,
            agent_id=address.agent_id,
            platform=work.source.platform,
            payload=msgspec.json.encode(work).decode(),
            digest=work.digest,
        )
        # Shielded: what is committed must also be woken, whoever stops waiting meanwhile.
        with trio.move_on_after(ACCEPT_WITHIN, shield=True):
            return await self._commit(address, new, work, mode)
        raise StoreRefused("busy", "The store did not answer in time; send it again in a moment.")

    async def _commit(self, address: Address, new: NewInbox, work: Work, mode: BusyMode) -> Kept:
        house = self._house
        accepted = await house.store.write(inbox.accept(new, now=house.now(), room=self._room))
        kept = Kept(address.session_key, address.agent_id, again=not accepted.fresh)
        if not accepted.fresh:
            self._wake(address)
            return kept
        house.journal.note("inbound.accepted", key=new.key, session=address.session_key)
        look = self._look(address)
        told = self._tell_run(look, address, accepted.message, work, mode)
        text = self._wake(address)
        if look.busy and new.key not in look.keys:
            text = told or LATER.format(place=await self._place(accepted.message))
            text = text if mode != "steer" or told else TOO_LATE.format(queued=text)
        return msgspec.structs.replace(kept, text=text)

    def _tell_run(
        self, look: Look, address: Address, message: InboxMessage, work: Work, mode: BusyMode
    ) -> str:
        """Let the run in progress know, if the chat wants it so; what its sender may be told.

        Not the run that has this very message in hand: it may have been taken already.
        """
        if look.state != "running" or message.key in look.keys or look.run_id is None:
            return ""
        session = self._sessions.ref(address.session_key)
        if mode == "steer":
            steer = Steer(message.id, spoken([work], self._grouping), look.run_id)
            session.signal(steer)
            return TOLD if steer.taken else ""
        if mode == "interrupt" and look.phase != "compacting":
            stop = StopRun("superseded", look.run_id)
            session.signal(stop)
            return TAKES_OVER if stop.hit else ""
        return ""

    async def _place(self, message: InboxMessage) -> int:
        waiting = await self._house.store.read(inbox.queued(message.session_key, limit=self._room))
        return sum(each.id <= message.id for each in waiting) or 1

    async def _allowed(self, address: Address, inbound: Work) -> Work | Ignored:
        source = inbound.source
        decision = await self._house.bus.decide(
            PreGatewayDispatch(
                platform=source.platform,
                chat_id=source.chat_id,
                user_id=source.user_id or "",
                text=inbound.text,
                session_key=address.session_key,
                agent_id=address.agent_id,
                message_id=inbound.message_id or "",
                thread_id=source.thread_id or "",
                chat_type=source.chat_type,
                user_name=source.user_name or "",
            )
        )
        if decision.action == "rewrite":
            return msgspec.structs.replace(inbound, text=decision.text)
        return inbound if decision.allowed else Ignored(decision.message or "skipped by a policy")

    def _wake(self, address: Address) -> str:
        """Words for the sender if the conversation cannot live now: what is committed waits."""
        key = address.session_key
        try:
            self._sessions.ref(key).tell(Wake())
        except MailboxFull:
            return ""  # a full lane holds other wakes already
        except Refusal as no:
            self._house.journal.note("session.not_woken", session=key, reason=str(no))
            return PUT_ASIDE if key in self._sessions.quarantined() else NOT_NOW
        return ""

    def _look(self, address: Address) -> Look:
        look = Look()
        self._sessions.ref(address.session_key).signal(look)
        return look
