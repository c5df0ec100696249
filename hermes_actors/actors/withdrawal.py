"""Messages that were queued and will not be answered: taken back, and told once each."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from hermes_actors.actors.house import House
from hermes_actors.actors.turn import HOOKS_WITHIN
from hermes_actors.hooks.events import MessageWithdrawn
from hermes_actors.store import inbox
from hermes_actors.store.inbox import InboxMessage


async def withdraw(house: House, key: str) -> list[InboxMessage]:
    """End everything that waits in a conversation; what that was. `tell_withdrawn` is yours to do.

    Shielded for a moment: what the store has ended must also be told.
    """
    await trio.lowlevel.checkpoint_if_cancelled()
    gone: list[InboxMessage] = []
    with trio.move_on_after(house.limits.seal_within, shield=True):
        gone = await house.store.write(inbox.withdraw(key, now=house.now()))
        # Those whose messages were committed just before ours were answered before us, and have
        # told the journal so when we come back from here.
        await trio.lowlevel.checkpoint()
    for message in gone:
        house.journal.note("inbound.ended", key=message.key, state="stopped")
    return gone


async def tell_withdrawn(house: House, gone: Sequence[InboxMessage]) -> None:
    """Tell the hooks of each, in order, within the time that hooks have."""
    with trio.move_on_after(HOOKS_WITHIN, shield=True):
        for message in gone:
            event = MessageWithdrawn(
                session_key=message.session_key,
                platform=message.platform,
                agent_id=message.agent_id,
                message_id=message.key,
                reason="stop_command",
            )
            await house.bus.fire(event)
