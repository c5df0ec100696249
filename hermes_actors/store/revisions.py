"""Changing what a model will be told: taking back turns, and summing up.

Nothing is deleted. A line that was taken back is not active any more; one that was summed up is
marked so and can still be found by searching.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_actors.errors import StoreRefused
from hermes_actors.store.messages import NewMessage, append
from hermes_actors.store.operation import writes
from hermes_actors.store.sql import Sql, column, names, run, value


class Rewound(msgspec.Struct, frozen=True):
    """How many turns and lines were taken back, and the words of the oldest of those turns."""

    turns: int
    messages: int
    text: str | None


@writes
def rewind(sql: Sql, session_id: str, turns: int, *, now: float) -> Rewound:
    """Take back the last `turns` user turns, as many as there are."""
    starts = run(
        sql,
        "SELECT id, content FROM messages WHERE session_id = ? AND active = 1 AND role = 'user' "
        "ORDER BY id DESC LIMIT ?",
        (session_id, turns),
    )
    if not starts:
        return Rewound(0, 0, None)
    first, text = starts[-1]
    gone = column(
        sql,
        "UPDATE messages SET active = 0 WHERE session_id = ? AND active = 1 AND id >= ? "
        "RETURNING id",
        (session_id, first),
    )
    run(
        sql,
        "UPDATE sessions SET rewinds = rewinds + 1, updated_at = ? WHERE id = ?",
        (now, session_id),
    )
    return Rewound(len(starts), len(gone), text)


@writes
def compact(
    sql: Sql, session_id: str, *, seen: int, replacement: Sequence[NewMessage | int], now: float
) -> list[int]:
    """Replace the whole active transcript; the new ids, or nothing happens at all.

    `seen` is the id of the last line that the summary knows: a later one is a conflict. In
    `replacement` a number means "this line as it is"; everything else active counts as summed up.
    """
    last = value(
        sql, "SELECT max(id) FROM messages WHERE session_id = ? AND active = 1", (session_id,)
    )
    if last != seen:
        raise StoreRefused(
            "conflict", f"session '{session_id}' has gone on to line {last} since line {seen}"
        )
    run(
        sql,
        "UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ? AND active = 1",
        (session_id,),
    )
    return [_place(sql, session_id, part, now) for part in replacement]


def _place(sql: Sql, session_id: str, part: NewMessage | int, now: float) -> int:
    if isinstance(part, NewMessage):
        return append.within(sql, session_id, [part], now=now)[0]
    # The old line gives way to its copy, so that a search does not find the same words twice.
    moved = column(
        sql,
        "UPDATE messages SET compacted = 0 WHERE id = ? AND session_id = ? AND compacted = 1 "
        "AND active = 0 RETURNING id",
        (part, session_id),
    )
    if not moved:
        raise StoreRefused("missing", f"line {part} is not part of session '{session_id}'")
    return copy_line(sql, part, session_id)


def copy_line(sql: Sql, message_id: int, session_id: str) -> int:
    """A copy of a line at the end of a session."""
    fields = f"{names(NewMessage)}, run_id, at"
    run(
        sql,
        f"INSERT INTO messages (session_id, {fields}) "
        f"SELECT ?, {fields} FROM messages WHERE id = ?",
        (session_id, message_id),
    )
    return int(value(sql, "SELECT last_insert_rowid()"))
