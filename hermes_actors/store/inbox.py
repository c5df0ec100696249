"""Messages from outside. Once accepted, a message comes to exactly one end.

The platform's own key names a message, so the same one delivered twice is one row. It is committed
here before the platform is told that we have it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_actors.errors import StoreRefused
from hermes_actors.store.operation import reads, writes
from hermes_actors.store.sql import Sql, column, insert, move, row, rows, run, value
from hermes_actors.store.states import INBOX_MOVES, InboxState


class NewInbox(msgspec.Struct, frozen=True, kw_only=True):
    """A message to accept. `source` and `payload` are JSON texts that the store never opens.

    `digest` stands for the content where the sender chose the key: same key, other digest is a
    conflict.
    """

    key: str
    session_key: str
    agent_id: str
    platform: str
    payload: str
    source: str = "{}"
    digest: str | None = None


class InboxMessage(NewInbox, frozen=True, kw_only=True):
    """An accepted message. `strikes` counts the crashes that it has caused."""

    id: int
    state: InboxState
    strikes: int
    run_id: str | None
    reason: str | None
    received_at: float
    finished_at: float | None


class Accepted(msgspec.Struct, frozen=True):
    """The message under this key; `fresh` when it is here for the first time."""

    message: InboxMessage
    fresh: bool


@writes
def accept(sql: Sql, new: NewInbox, *, now: float, room: int = 1000) -> Accepted:
    """Keep a message, once.

    Refuses as 'conflict' when the key stands for something else, and as 'crowded' when `room`
    messages of this conversation wait already.
    """
    known = find.within(sql, new.key)
    if known is not None:
        return Accepted(_same(known, new), False)
    if _is_crowded(sql, new.session_key, room):
        raise StoreRefused(
            "crowded", f"{room} messages of this conversation wait already: try again later"
        )
    insert(sql, "inbox", new, received_at=now)
    return Accepted(_must_find(sql, new.key), True)


@reads
def find(sql: Sql, key: str) -> InboxMessage | None:
    """The message that was accepted under this key."""
    return row(sql, InboxMessage, "FROM inbox WHERE key = ?", (key,))


@reads
def queued(sql: Sql, session_key: str, *, limit: int = 1000) -> list[InboxMessage]:
    """What waits in one conversation, in order."""
    return rows(
        sql,
        InboxMessage,
        "FROM inbox WHERE session_key = ? AND state = 'queued' ORDER BY id LIMIT ?",
        (session_key, limit),
    )


@reads
def waiting_sessions(sql: Sql) -> list[str]:
    """The keys of all conversations in which something waits: those to wake at boot."""
    return column(
        sql, "SELECT session_key FROM inbox WHERE state = 'queued' GROUP BY session_key ORDER BY 1"
    )


@reads
def of_run(sql: Sql, run_id: str) -> list[InboxMessage]:
    """What a run has taken in hand, in order."""
    return rows(sql, InboxMessage, "FROM inbox WHERE run_id = ? ORDER BY id", (run_id,))


@writes
def claim(sql: Sql, ids: Sequence[int], run_id: str) -> None:
    """Take queued messages in hand for a run that goes on, out of order if need be."""
    for each in ids:
        move(sql, "inbox", {"id": each}, InboxState.CLAIMED, INBOX_MOVES, run_id=run_id)


@writes
def withdraw(
    sql: Sql, session_key: str, *, now: float, reason: str = "withdrawn"
) -> list[InboxMessage]:
    """End everything that still waits in one conversation; what that was."""
    waiting = queued.within(sql, session_key, limit=-1)
    for each in waiting:
        _end(sql, each.key, InboxState.WITHDRAWN, reason, now)
    return waiting


@writes
def reject(sql: Sql, key: str, reason: str, *, now: float) -> None:
    """End a queued message because it may not be served."""
    _end(sql, key, InboxState.REJECTED, reason, now)


@writes
def prune(sql: Sql, *, before: float, limit: int = 1000) -> int:
    """Forget ended messages, and so their keys; how many. Dead ones stay as letters."""
    gone = run(
        sql,
        "DELETE FROM inbox WHERE id IN (SELECT id FROM inbox WHERE finished_at < ? "
        "AND finished_at IS NOT NULL ORDER BY finished_at LIMIT ?) RETURNING 1",
        (before, limit),
    )
    return len(gone)


def _end(sql: Sql, key: str, state: InboxState, reason: str, now: float) -> None:
    move(sql, "inbox", {"key": key}, state, INBOX_MOVES, reason=reason, finished_at=now)


def _same(known: InboxMessage, new: NewInbox) -> InboxMessage:
    if known.digest is not None and new.digest is not None and known.digest != new.digest:
        raise StoreRefused(
            "conflict", f"the key '{new.key}' was used before for another message: use a new key"
        )
    return known


def _is_crowded(sql: Sql, session_key: str, room: int) -> bool:
    one_too_many = value(
        sql,
        "SELECT 1 FROM inbox WHERE session_key = ? AND state = 'queued' "
        "ORDER BY id LIMIT 1 OFFSET ?",
        (session_key, room - 1),
    )
    return one_too_many is not None


def _must_find(sql: Sql, key: str) -> InboxMessage:
    found = find.within(sql, key)
    assert found is not None
    return found
