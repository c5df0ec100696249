"""A fresh conversation in the place of another: because somebody asked, or because it was time.

The old one ends and the new one stands in its place in one transaction. Then the hooks hear of it,
first that the old one is over, then that there is a new one, and only then does anything run in it.
"""

from __future__ import annotations

import msgspec
import trio

from hermes_actors.actors.house import House
from hermes_actors.actors.taking import Manners
from hermes_actors.actors.turn import HOOKS_WITHIN
from hermes_actors.errors import StoreRefused
from hermes_actors.hooks.events import OnSessionFinalize, OnSessionReset
from hermes_actors.pure.resets import NOTICES, Reason, reset_reason
from hermes_actors.store import bindings, outbox, sessions
from hermes_actors.store.bindings import Opened
from hermes_actors.store.operation import writes
from hermes_actors.store.outbox import NewReply
from hermes_actors.store.sessions import NewSession, Session
from hermes_actors.store.sql import Sql
from hermes_actors.values import Source


class Renewed(msgspec.Struct, frozen=True):
    """The new session, and the one before it, if there was one."""

    session: Session
    before: Session | None


async def renew(
    house: House,
    new: NewSession,
    reason: str,
    *,
    title: str | None = None,
    notice: NewReply | None = None,
) -> Renewed:
    """Start over. Cancelled before the commit, nothing has happened; after it, the hooks fire."""
    await trio.lowlevel.checkpoint_if_cancelled()
    within = house.limits.seal_within + 2 * HOOKS_WITHIN
    with trio.move_on_after(within, shield=True):
        renewed = await house.store.write(
            _start_over(new, reason, title=title, notice=notice, now=house.now())
        )
        await _tell(house, renewed, reason)
        return renewed
    raise StoreRefused("busy", "The store did not answer in time; try again in a moment.")


async def opened(house: House, new: NewSession, source: Source, manners: Manners) -> Opened:
    """The session behind the key: the one that goes on, or a fresh one if a policy says so."""
    reason = await _due(house, new.session_key, manners)
    if reason is None:
        # Looking is enough: that the key was used is noted with the run that begins.
        if (found := await house.store.read(bindings.session_behind(new.session_key))) is not None:
            return Opened(found, False)
        return await house.store.write(bindings.open_session(new, now=house.now()))
    notice = _notice(house, new, source, reason) if manners.notify else None
    renewed = await renew(house, new, "session_expired", notice=notice)
    house.journal.note("session.reset", session=new.session_key, reason=reason)
    return Opened(renewed.session, True)


async def _due(house: House, key: str, manners: Manners) -> Reason | None:
    if manners.reset.mode == "none":
        return None
    binding = await house.store.read(bindings.find(key))
    if binding is None:
        return None
    quiet_since = binding.updated_at
    return reset_reason(manners.reset, quiet_since, house.now(), manners.offset, at_work=False)


def _notice(house: House, new: NewSession, source: Source, reason: Reason) -> NewReply | None:
    """Where the channel dies with the response there is nobody to tell beside the answer."""
    if not house.surface(source.platform).supports_async_delivery:
        return None
    return NewReply(
        key=f"{new.id}:reset",
        platform=source.platform,
        chat_id=source.chat_id,
        thread_id=source.thread_id,
        session_id=new.id,
        kind="notice",
        text=NOTICES[reason],
    )


@writes
def _start_over(
    sql: Sql,
    new: NewSession,
    reason: str,
    *,
    title: str | None,
    notice: NewReply | None,
    now: float,
) -> Renewed:
    bound = bindings.find.within(sql, new.session_key)
    before = None if bound is None else sessions.get.within(sql, bound.session_id)
    made = bindings.start_over.within(sql, new, reason, now=now)
    if title is not None:
        made = sessions.entitle.within(sql, new.id, title, now=now)
    if notice is not None and before is not None and before.message_count:
        outbox.queue.within(sql, notice, now=now)
    return Renewed(made, before)


async def _tell(house: House, renewed: Renewed, reason: str) -> None:
    before, new = renewed.before, renewed.session
    if before is None:
        return  # nothing was there, so nothing is over
    common = {
        "platform": new.platform,
        "reason": reason,
        "session_key": new.session_key,
        "agent_id": new.agent_id,
        "old_session_id": before.id,
        "new_session_id": new.id,
    }
    await house.bus.fire(OnSessionFinalize(session_id=before.id, **common))
    await house.bus.fire(OnSessionReset(session_id=new.id, **common))
