"""From what waits in an inbox to what one run is to answer: who said it, and what belongs together.

People send one thought in several messages, and clients split long ones. Those of one sender that
wait together are answered together. What asks for more than an answer (`Work.task`) is alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

import msgspec

from hermes_actors.actors.house import House
from hermes_actors.actors.turn import Order
from hermes_actors.context import SessionContext
from hermes_actors.pure.resets import Offset, ResetPolicy
from hermes_actors.pure.session_keys import Grouping, is_shared, speaker_prefix
from hermes_actors.store.inbox import InboxMessage
from hermes_actors.store.sessions import NewSession
from hermes_actors.values import Inbound, Source

Task = Literal["", "queue", "retry", "compress"]


class Work(Inbound, frozen=True, omit_defaults=True):
    """A message as the inbox keeps it. `task` says what is wanted besides an answer to its words:
    `queue` nothing more, but a run of its own; `retry` and `compress` are the commands."""

    task: Task = ""


class Manners(msgspec.Struct, frozen=True, kw_only=True):
    """How a conversation behaves: who shares it, and when it starts afresh by itself.

    `offset` is the local time's distance to UTC, as `pure.resets` takes it.
    """

    grouping: Grouping = Grouping()
    reset: ResetPolicy = ResetPolicy()
    notify: bool = True
    offset: Offset = 0.0


def work_of(message: InboxMessage) -> Work:
    """A stored message, read back."""
    return msgspec.json.decode(message.payload, type=Work)


def together(waiting: Sequence[InboxMessage]) -> list[InboxMessage]:
    """The first message and those that follow it from the same person."""
    if not waiting:
        return []
    first = work_of(waiting[0])
    if first.task:
        return [waiting[0]]

    def belongs(message: InboxMessage) -> bool:
        work = work_of(message)
        return work.source.user_id == first.source.user_id and not work.task

    return list(takewhile(belongs, waiting))


def spoken(said: Sequence[Inbound], grouping: Grouping) -> str:
    """The words of one sender for the model, with a name where several people talk."""
    words = "\n".join(each.text for each in said)
    source = said[-1].source
    if not is_shared(source, grouping):
        return words
    return speaker_prefix(source.user_name or source.user_id) + words


def new_session(house: House, key: str, agent: str, source: Source) -> NewSession:
    """A conversation to be, for whoever speaks first in it."""
    return NewSession(
        id=house.new_id("session"),
        session_key=key,
        agent_id=agent,
        platform=source.platform,
        source=msgspec.json.encode(source).decode(),
        display_name=source.chat_name or source.user_name,
    )


def context_of(order: Order, last: Inbound, house: House) -> SessionContext:
    """The identity that logs, threads and tool processes of a run read."""
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
