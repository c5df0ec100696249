"""Messages that were accepted and cannot be answered: kept for people, and their sender is told."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_actors.actors.house import House
from hermes_actors.actors.taking import Work, work_of
from hermes_actors.hooks.events import DeadLetter
from hermes_actors.store import inbox, letters, outbox
from hermes_actors.store.inbox import InboxMessage
from hermes_actors.store.letters import Letter
from hermes_actors.store.operation import writes
from hermes_actors.store.outbox import NewReply
from hermes_actors.store.recovery import MOST_STRIKES
from hermes_actors.store.sql import Sql

GIVEN_UP = (
    "I could not answer one of your messages: the gateway failed each time it tried. The message "
    "is put aside and will not be tried again; say it in another way, or tell the operator. "
    "It began: {beginning}"
)
REJECTED = "I could not answer your message: {reason}. Nothing was done with it."
_BEGINNING = 80


async def announce_dead(house: House) -> int:
    """Tell the senders and the hooks of letters that nobody was told of yet; how many."""
    letters_left = await house.store.read(letters.unannounced())
    told = [letter for letter in letters_left if letter.origin == "inbox"]
    for letter in told:
        await _announce(house, letter)
    return len(told)


async def turn_away(house: House, batch: Sequence[InboxMessage], reason: str) -> None:
    """End messages that may not be served, and say why."""
    for message in batch:
        words = REJECTED.format(reason=reason)
        notice = _notice(house, work_of(message), f"{message.key}:rejected", words)
        await house.store.write(_reject(message.key, reason, notice, now=house.now()))
        house.journal.note("inbound.ended", key=message.key, state="rejected")


async def _announce(house: House, letter: Letter) -> None:
    work = msgspec.json.decode(letter.payload, type=Work)
    beginning = " ".join(work.text.split())[:_BEGINNING]
    words = GIVEN_UP.format(beginning=beginning)
    notice = _notice(house, work, f"{letter.origin_key}:dead", words)
    if not await house.store.write(_take_duty(letter.id, notice, now=house.now())):
        return
    message = await house.store.read(inbox.find(letter.origin_key))
    await house.bus.fire(
        DeadLetter(
            session_key=letter.session_key or "",
            agent_id="" if message is None else message.agent_id,
            message_id=letter.origin_key,
            attempts=MOST_STRIKES if message is None else message.strikes,
            reason=letter.reason,
        )
    )


def _notice(house: House, work: Work, key: str, words: str) -> NewReply | None:
    source = work.source
    if not house.surface(source.platform).supports_async_delivery:
        return None
    return NewReply(
        key=key,
        platform=source.platform,
        chat_id=source.chat_id,
        thread_id=source.thread_id,
        kind="notice",
        text=words,
    )


@writes
def _take_duty(sql: Sql, letter_id: int, notice: NewReply | None, *, now: float) -> bool:
    taken = letters.announce.within(sql, letter_id)
    if taken and notice is not None:
        outbox.queue.within(sql, notice, now=now)
    return taken


@writes
def _reject(sql: Sql, key: str, reason: str, notice: NewReply | None, *, now: float) -> None:
    inbox.reject.within(sql, key, reason, now=now)
    if notice is not None:
        outbox.queue.within(sql, notice, now=now)
