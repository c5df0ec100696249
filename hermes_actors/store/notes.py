"""Small facts that others keep here so that they survive: cursors, pairing codes, stored answers.

A value is anything that msgspec can write as JSON. Its meaning belongs to whoever owns the space.
"""

from __future__ import annotations

from typing import Any

import msgspec

from hermes_actors.store.operation import reads, writes
from hermes_actors.store.sql import Sql, run, value


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()
"""In `compare_and_set`: there is no note (`expected`), or there shall be none (`wanted`)."""


@reads
def get(sql: Sql, space: str, name: str, default: Any = None) -> Any:
    """The value of a note, or the default."""
    found = _text(sql, space, name)
    return default if found is None else msgspec.json.decode(found)


@writes
def put(sql: Sql, space: str, name: str, content: Any, *, now: float) -> None:
    """Keep a value, in place of the one before."""
    run(
        sql,
        "INSERT INTO notes (space, name, value, updated_at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (space, name) DO UPDATE SET value = excluded.value, "
        "updated_at = excluded.updated_at",
        (space, name, _json(content), now),
    )


@writes
def delete(sql: Sql, space: str, name: str) -> bool:
    """Forget a note; False when there was none."""
    return bool(
        run(sql, "DELETE FROM notes WHERE space = ? AND name = ? RETURNING 1", (space, name))
    )


@writes
def compare_and_set(
    sql: Sql, space: str, name: str, *, expected: Any, wanted: Any, now: float
) -> bool:
    """Change a note only if it says what is expected; False, and no change, if not."""
    found = _text(sql, space, name)
    said = ABSENT if found is None else msgspec.json.decode(found)
    if said != (ABSENT if expected is ABSENT else msgspec.json.decode(_json(expected))):
        return False
    if wanted is ABSENT:
        delete.within(sql, space, name)
    else:
        put.within(sql, space, name, wanted, now=now)
    return True


@reads
def space(sql: Sql, name: str, *, prefix: str = "", limit: int = 1000) -> dict[str, Any]:
    """All notes of a space whose names begin so, by name."""
    found = run(
        sql,
        "SELECT name, value FROM notes WHERE space = ? AND substr(name, 1, ?) = ? "
        "ORDER BY name LIMIT ?",
        (name, len(prefix), prefix, limit),
    )
    return {each: msgspec.json.decode(text) for each, text in found}


@writes
def prune(sql: Sql, name: str, *, before: float) -> int:
    """Forget the notes of a space that were last changed before then; how many."""
    gone = run(
        sql, "DELETE FROM notes WHERE space = ? AND updated_at < ? RETURNING 1", (name, before)
    )
    return len(gone)


def _text(sql: Sql, space: str, name: str) -> str | None:
    text: str | None = value(
        sql, "SELECT value FROM notes WHERE space = ? AND name = ?", (space, name)
    )
    return text


def _json(content: Any) -> str:
    return msgspec.json.encode(content).decode()
