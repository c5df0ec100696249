"""Dead letters: what was accepted and could not be brought to a good end, kept for people."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_actors.store.operation import reads, writes
from hermes_actors.store.sql import Sql, rows, run, value

Origin = Literal["inbox", "outbox", "actor"]


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """One of them. `payload` is what it said, as JSON text."""

    id: int
    origin: Origin
    origin_key: str
    session_key: str | None
    payload: str
    reason: str
    at: float
    notified: bool


@writes
def bury(
    sql: Sql,
    origin: Origin,
    origin_key: str,
    *,
    reason: str,
    now: float,
    session_key: str | None = None,
    payload: str = "{}",
) -> bool:
    """Keep it; False when it is already there."""
    fresh = value(
        sql,
        "INSERT INTO dead_letters (origin, origin_key, session_key, payload, reason, at) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1",
        (origin, origin_key, session_key, payload, reason, now),
    )
    return fresh is not None


@reads
def latest(sql: Sql, *, limit: int = 100) -> list[Letter]:
    """The newest, newest first."""
    return rows(sql, Letter, "FROM dead_letters ORDER BY id DESC LIMIT ?", (limit,))


@reads
def unannounced(sql: Sql, *, limit: int = 100) -> list[Letter]:
    """Those of which nobody was told yet, oldest first."""
    return rows(sql, Letter, "FROM dead_letters WHERE notified = 0 ORDER BY id LIMIT ?", (limit,))


@writes
def announce(sql: Sql, letter_id: int) -> bool:
    """Take the duty to tell somebody; True for exactly one caller."""
    taken = run(
        sql,
        "UPDATE dead_letters SET notified = 1 WHERE id = ? AND notified = 0 RETURNING 1",
        (letter_id,),
    )
    return bool(taken)
