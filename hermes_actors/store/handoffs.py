"""Conversations on their way to another surface.

A claim carries a token and a lease. Every later step names the token, so a worker whose lease ran
out and was taken over can no longer change anything; and a crashed one blocks nobody for ever.
"""

from __future__ import annotations

import msgspec

from hermes_actors.errors import StoreRefused
from hermes_actors.store.operation import reads, writes
from hermes_actors.store.sql import Sql, insert, must, row, rows, run, value
from hermes_actors.store.states import HandoffState

LONGEST_ERROR = 500


class NewHandoff(msgspec.Struct, frozen=True, kw_only=True):
    """A wish to go on elsewhere. `target` is JSON text: the chat, if one was named."""

    id: str
    session_id: str
    platform: str
    target: str = "{}"


class Handoff(NewHandoff, frozen=True, kw_only=True):
    """A handoff. `destination` is the full source, as JSON text, once it is completed."""

    state: HandoffState
    token: str | None
    lease_until: float | None
    destination: str | None
    error: str | None
    requested_at: float
    updated_at: float


@writes
def request(sql: Sql, new: NewHandoff, *, now: float) -> Handoff:
    """Ask for a handoff; refused as 'conflict' while another of this session is open."""
    other = value(
        sql,
        "SELECT id FROM handoffs WHERE session_id = ? AND state IN ('pending', 'running')",
        (new.session_id,),
    )
    if other is not None:
        raise StoreRefused("conflict", f"handoff '{other}' of this session is not over yet")
    insert(sql, "handoffs", new, requested_at=now, updated_at=now)
    return get.within(sql, new.id)


@reads
def claimable(sql: Sql, *, now: float) -> list[Handoff]:
    """What waits for a worker, or was left by one whose lease is over; oldest first."""
    return rows(
        sql,
        Handoff,
        "FROM handoffs WHERE state IN ('pending', 'running') "
        "AND (state = 'pending' OR lease_until <= ?) ORDER BY +rowid",  # by the small index
        (now,),
    )


@writes
def claim(sql: Sql, handoff_id: str, token: str, *, lease_until: float, now: float) -> bool:
    """Take a handoff in hand; True for exactly one of those who try."""
    taken = run(
        sql,
        "UPDATE handoffs SET state = 'running', token = ?, lease_until = ?, updated_at = ? "
        "WHERE id = ? AND (state = 'pending' OR (state = 'running' AND lease_until <= ?)) "
        "RETURNING 1",
        (token, lease_until, now, handoff_id, now),
    )
    return bool(taken)


@writes
def renew(sql: Sql, handoff_id: str, token: str, *, lease_until: float, now: float) -> None:
    """Keep the lease; refused as 'conflict' when it is not ours any more."""
    _step(sql, handoff_id, token, now, HandoffState.RUNNING, lease_until=lease_until)


@writes
def complete(sql: Sql, handoff_id: str, token: str, destination: str, *, now: float) -> None:
    """It has arrived; refused as 'conflict' when it is not ours any more."""
    _step(sql, handoff_id, token, now, HandoffState.COMPLETED, destination=destination)


@writes
def fail(sql: Sql, handoff_id: str, error: str, *, now: float, token: str | None = None) -> None:
    """It could not be done. Without a token only what nobody has in hand yet can fail."""
    said = error[:LONGEST_ERROR]
    if token is not None:
        _step(sql, handoff_id, token, now, HandoffState.FAILED, error=said)
        return
    failed = run(
        sql,
        "UPDATE handoffs SET state = 'failed', error = ?, updated_at = ? "
        "WHERE id = ? AND state = 'pending' RETURNING 1",
        (said, now, handoff_id),
    )
    if not failed:
        raise _not_ours(sql, handoff_id)


@reads
def get(sql: Sql, handoff_id: str) -> Handoff:
    """The handoff with this id; refused as 'missing' when there is none."""
    found = row(sql, Handoff, "FROM handoffs WHERE id = ?", (handoff_id,))
    return must(found, f"handoff '{handoff_id}'")


@reads
def latest(sql: Sql, session_id: str) -> Handoff | None:
    """The newest handoff of a session."""
    return row(
        sql,
        Handoff,
        "FROM handoffs WHERE session_id = ? ORDER BY rowid DESC LIMIT 1",
        (session_id,),
    )


def _step(
    sql: Sql, handoff_id: str, token: str, now: float, to: HandoffState, **also: object
) -> None:
    sets = {"state": to, "lease_until": None, "updated_at": now, **also}
    changed = run(
        sql,
        f"UPDATE handoffs SET {', '.join(f'{name} = :{name}' for name in sets)} "
        "WHERE id = :id AND token = :token AND state = 'running' RETURNING 1",
        {**sets, "id": handoff_id, "token": token},
    )
    if not changed:
        raise _not_ours(sql, handoff_id)


def _not_ours(sql: Sql, handoff_id: str) -> StoreRefused:
    state = get.within(sql, handoff_id).state
    return StoreRefused("conflict", f"handoff '{handoff_id}' is '{state}' and in other hands")
