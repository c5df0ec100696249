"""Where a chat's next message goes: from a session key to the session behind it.

Several keys may lead to one session. A key always leads to exactly one, and of two first messages
that arrive together the second finds what the first has made.
"""

from __future__ import annotations

import msgspec

from hermes_actors.store import sessions
from hermes_actors.store.operation import reads, writes, writes_soon
from hermes_actors.store.sessions import NewSession, Session
from hermes_actors.store.sql import Sql, row, rows, run


class Binding(msgspec.Struct, frozen=True, kw_only=True):
    """One key's way to its session."""

    session_key: str
    session_id: str
    agent_id: str
    bound_at: float
    updated_at: float
    reset_reason: str | None
    reset_had_activity: bool
    suspended: bool
    expiry_finalized: bool


class Opened(msgspec.Struct, frozen=True):
    """The session behind a key; `fresh` when it was made just now."""

    session: Session
    fresh: bool


@reads
def find(sql: Sql, session_key: str) -> Binding | None:
    """Where this key leads."""
    return row(sql, Binding, "FROM bindings WHERE session_key = ?", (session_key,))


@reads
def session_behind(sql: Sql, session_key: str) -> Session | None:
    """The session that this key leads to, if it has led anywhere yet."""
    found = find.within(sql, session_key)
    return None if found is None else sessions.get.within(sql, found.session_id)


@writes
def open_session(sql: Sql, new: NewSession, *, now: float) -> Opened:
    """The session behind `new.session_key`; made from `new` if there is none."""
    found = find.within(sql, new.session_key)
    if found is not None:
        touch.within(sql, new.session_key, now=now)
        return Opened(sessions.get.within(sql, found.session_id), False)
    made = sessions.create.within(sql, new, now=now)
    bind.within(sql, new.session_key, new.id, agent_id=new.agent_id, now=now)
    return Opened(made, True)


@writes
def bind(
    sql: Sql,
    session_key: str,
    session_id: str,
    *,
    agent_id: str,
    now: float,
    reset_reason: str | None = None,
    had_activity: bool = False,
) -> None:
    """Let a key lead to a session, wherever it led before."""
    run(
        sql,
        "INSERT INTO bindings (session_key, session_id, agent_id, bound_at, updated_at, "
        "reset_reason, reset_had_activity) VALUES (:key, :id, :agent, :now, :now, :reason, :had) "
        "ON CONFLICT (session_key) DO UPDATE SET session_id = excluded.session_id, "
        "agent_id = excluded.agent_id, bound_at = excluded.bound_at, "
        "updated_at = excluded.updated_at, reset_reason = excluded.reset_reason, "
        "reset_had_activity = excluded.reset_had_activity, suspended = 0, expiry_finalized = 0",
        {
            "key": session_key,
            "id": session_id,
            "agent": agent_id,
            "now": now,
            "reason": reset_reason,
            "had": had_activity,
        },
    )


@writes
def start_over(sql: Sql, new: NewSession, reason: str, *, now: float) -> Session:
    """End the session behind the key and put a new one in its place."""
    before = find.within(sql, new.session_key)
    had_activity = False
    if before is not None:
        had_activity = sessions.get.within(sql, before.session_id).message_count > 0
        sessions.end.within(sql, before.session_id, reason, now=now)
    made = sessions.create.within(sql, new, now=now)
    bind.within(
        sql,
        new.session_key,
        new.id,
        agent_id=new.agent_id,
        now=now,
        reset_reason=reason,
        had_activity=had_activity,
    )
    return made


@writes
def switch(sql: Sql, session_key: str, session_id: str, *, now: float) -> Session:
    """Let the key lead to another session, which goes on; the one before it ends."""
    before = find.within(sql, session_key)
    if before is not None and before.session_id != session_id:
        sessions.end.within(sql, before.session_id, "session_switch", now=now)
    target = sessions.reopen.within(sql, session_id, now=now)
    bind.within(sql, session_key, session_id, agent_id=target.agent_id, now=now)
    return target


@writes_soon
def touch(sql: Sql, session_key: str, *, now: float) -> None:
    """Note that the key was used."""
    run(
        sql,
        "UPDATE bindings SET updated_at = ?, expiry_finalized = 0 WHERE session_key = ?",
        (now, session_key),
    )


@writes
def suspend(sql: Sql, session_key: str, suspended: bool = True) -> None:
    """Mark a key whose next message must begin a new session, or take the mark away."""
    run(
        sql,
        "UPDATE bindings SET suspended = ? WHERE session_key = ?",
        (suspended, session_key),
    )


@writes
def finalize(sql: Sql, session_key: str, *, quiet_since: float) -> bool:
    """Take the duty to finalize an expired session; False when another has, or it woke up."""
    taken = run(
        sql,
        "UPDATE bindings SET expiry_finalized = 1 WHERE session_key = ? "
        "AND expiry_finalized = 0 AND updated_at <= ? RETURNING 1",
        (session_key, quiet_since),
    )
    return bool(taken)


@reads
def quiet(sql: Sql, *, since: float, limit: int = 100) -> list[Binding]:
    """Keys that nobody has used since then and that were not finalized, quietest first."""
    return rows(
        sql,
        Binding,
        "FROM bindings WHERE expiry_finalized = 0 AND updated_at <= ? ORDER BY updated_at LIMIT ?",
        (since, limit),
    )


@reads
def leading_to(sql: Sql, session_id: str) -> list[Binding]:
    """Every key of a session."""
    return rows(
        sql, Binding, "FROM bindings WHERE session_id = ? ORDER BY session_key", (session_id,)
    )
