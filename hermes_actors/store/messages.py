"""What was said in a session, in order. Ids are the order; times are only told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from hermes_actors.store.operation import reads, writes
from hermes_actors.store.sql import Sql, insert, row, rows, run, value

Role = Literal["system", "user", "assistant", "tool", "meta"]


class NewMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a transcript. `parts`, `tool_calls` and `reasoning_details` are JSON texts."""

    role: Role
    content: str | None = None
    parts: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    tool_calls: str | None = None
    reasoning: str | None = None
    reasoning_details: str | None = None
    finish_reason: str | None = None
    effect: str | None = None
    token_count: int | None = None
    platform_message_id: str | None = None
    partial: bool = False


class Message(NewMessage, frozen=True, kw_only=True):
    """A stored line. One that is not `active` was undone, or, if `compacted`, summed up."""

    id: int
    session_id: str
    run_id: str | None
    at: float
    active: bool
    compacted: bool


@writes
def append(
    sql: Sql,
    session_id: str,
    messages: Sequence[NewMessage],
    *,
    now: float,
    run_id: str | None = None,
) -> list[int]:
    """Add lines to the end of a session; their ids."""
    ids = []
    for message in messages:
        insert(sql, "messages", message, session_id=session_id, run_id=run_id, at=now)
        ids.append(int(value(sql, "SELECT last_insert_rowid()")))
    run(
        sql,
        "UPDATE sessions SET message_count = message_count + ?, updated_at = ? WHERE id = ?",
        (len(ids), now, session_id),
    )
    return ids


@reads
def transcript(sql: Sql, session_id: str) -> list[Message]:
    """What a model would be told: every active line, oldest first."""
    return rows(
        sql, Message, "FROM messages WHERE session_id = ? AND active = 1 ORDER BY id", (session_id,)
    )


@reads
def page(sql: Sql, session_id: str, *, before: int | None = None, limit: int = 50) -> list[Message]:
    """The last `limit` active lines before the given id, oldest first."""
    found = rows(
        sql,
        Message,
        "FROM messages WHERE session_id = ? AND active = 1 AND id < ? ORDER BY id DESC LIMIT ?",
        (session_id, 2**62 if before is None else before, limit),
    )
    return found[::-1]


@reads
def around(sql: Sql, message_id: int, *, each_side: int = 5) -> list[Message]:
    """A line with its neighbours in the same session, summed-up ones included."""
    found = row(sql, Message, "FROM messages WHERE id = ?", (message_id,))
    if found is None:
        return []
    visible = "FROM messages WHERE session_id = ? AND (active = 1 OR compacted = 1)"
    before = rows(
        sql,
        Message,
        f"{visible} AND id < ? ORDER BY id DESC LIMIT ?",
        (found.session_id, message_id, each_side),
    )
    after = rows(
        sql,
        Message,
        f"{visible} AND id > ? ORDER BY id LIMIT ?",
        (found.session_id, message_id, each_side),
    )
    return [*before[::-1], found, *after]


@reads
def of_run(sql: Sql, run_id: str) -> list[Message]:
    """Every line that one run has written."""
    return rows(sql, Message, "FROM messages WHERE run_id = ? ORDER BY id", (run_id,))
