"""Conversations: who they belong to, what they are called, and whether they have ended."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from hermes_actors.errors import StoreRefused
from hermes_actors.store.operation import reads, writes
from hermes_actors.store.sql import Sql, insert, must, row, rows, run, value

LONGEST_TITLE = 100


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation to be. `source`, `model_override` and `extra` are JSON texts."""

    id: str
    session_key: str
    agent_id: str
    platform: str
    source: str = "{}"
    display_name: str | None = None
    parent_id: str | None = None
    model_override: str | None = None
    system_prompt: str | None = None
    extra: str = "{}"


class Session(NewSession, frozen=True, kw_only=True):
    """A conversation."""

    title: str | None
    started_at: float
    updated_at: float
    ended_at: float | None
    end_reason: str | None
    message_count: int
    tool_call_count: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    cost_micros: int
    rewinds: int
    strikes: int
    archived: bool


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What to change about a session; what is not given stays."""

    display_name: str | UnsetType | None = UNSET
    model_override: str | UnsetType | None = UNSET
    system_prompt: str | UnsetType | None = UNSET
    archived: bool | UnsetType = UNSET
    strikes: int | UnsetType = UNSET
    extra: str | UnsetType = UNSET


@writes
def create(sql: Sql, session: NewSession, *, now: float) -> Session:
    """Begin a conversation; refused as 'exists' when the id is taken."""
    if find.within(sql, session.id) is not None:
        raise StoreRefused("exists", f"a session with the id '{session.id}' exists already")
    insert(sql, "sessions", session, started_at=now, updated_at=now)
    return get.within(sql, session.id)


@reads
def find(sql: Sql, session_id: str) -> Session | None:
    """The session with this id."""
    return row(sql, Session, "FROM sessions WHERE id = ?", (session_id,))


@reads
def get(sql: Sql, session_id: str) -> Session:
    """The session with this id; refused as 'missing' when there is none."""
    return must(find.within(sql, session_id), f"session '{session_id}'")


@reads
def titled(sql: Sql, title: str) -> Session | None:
    """The session with this title."""
    return row(sql, Session, "FROM sessions WHERE title = ?", (clean_title(title),))


@reads
def latest(
    sql: Sql,
    *,
    platform: str | None = None,
    agent_id: str | None = None,
    session_key: str | None = None,
    only_titled: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> list[Session]:
    """Sessions by their last change, newest first, archived ones left out."""
    return rows(
        sql,
        Session,
        "FROM sessions WHERE archived = 0 AND (:platform IS NULL OR platform = :platform) "
        "AND (:agent_id IS NULL OR agent_id = :agent_id) "
        "AND (:session_key IS NULL OR session_key = :session_key) "
        "AND (title IS NOT NULL OR NOT :only_titled) "
        "ORDER BY updated_at DESC LIMIT :limit OFFSET :offset",
        {
            "platform": platform,
            "agent_id": agent_id,
            "session_key": session_key,
            "only_titled": only_titled,
            "limit": limit,
            "offset": offset,
        },
    )


@writes
def amend(sql: Sql, session_id: str, changes: Changes, *, now: float) -> Session:
    """Change what is given."""
    given = {k: v for k, v in msgspec.structs.asdict(changes).items() if v is not UNSET}
    sets = "".join(f", {name} = :{name}" for name in given)
    run(
        sql,
        f"UPDATE sessions SET updated_at = :now{sets} WHERE id = :id",
        given | {"now": now, "id": session_id},
    )
    return get.within(sql, session_id)


@writes
def entitle(sql: Sql, session_id: str, title: str | None, *, now: float) -> Session:
    """Give a title that no other session has, or take it away."""
    clean = None if title is None else clean_title(title)
    owner = value(sql, "SELECT id FROM sessions WHERE title = ?", (clean,))
    if owner is not None and owner != session_id:
        raise StoreRefused("exists", f"another session has the title '{clean}'; choose another")
    run(
        sql,
        "UPDATE sessions SET title = ?, updated_at = ? WHERE id = ?",
        (clean, now, session_id),
    )
    return get.within(sql, session_id)


@writes
def end(sql: Sql, session_id: str, reason: str, *, now: float) -> bool:
    """End a session; False when it had ended before, whose reason then stays."""
    ended = value(
        sql,
        "UPDATE sessions SET ended_at = ?, end_reason = ?, updated_at = ? "
        "WHERE id = ? AND ended_at IS NULL RETURNING 1",
        (now, reason, now, session_id),
    )
    return ended is not None


@writes
def reopen(sql: Sql, session_id: str, *, now: float) -> Session:
    """Let an ended session go on."""
    run(
        sql,
        "UPDATE sessions SET ended_at = NULL, end_reason = NULL, updated_at = ? WHERE id = ?",
        (now, session_id),
    )
    return get.within(sql, session_id)


def clean_title(title: str) -> str:
    """A title as it is kept: one line, without control characters, not too long."""
    spaced = "".join(character if character.isprintable() else " " for character in title)
    clean = " ".join(spaced.split())[:LONGEST_TITLE].rstrip()
    if not clean:
        raise StoreRefused("invalid", "a title needs at least one visible character")
    return clean
