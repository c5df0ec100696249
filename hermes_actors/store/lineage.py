"""Sessions that come from others: branches, and the way from an ancestor to its newest heir."""

from __future__ import annotations

import re

from hermes_actors.store import sessions
from hermes_actors.store.operation import reads, writes
from hermes_actors.store.revisions import copy_line
from hermes_actors.store.sessions import LONGEST_TITLE, NewSession, Session
from hermes_actors.store.sql import Sql, column, run, value


@writes
def branch(
    sql: Sql, session_id: str, new: NewSession, *, now: float, title: str | None = None
) -> Session:
    """A new session with a copy of every active line of another.

    Without a title of its own it takes its parent's with the next free number.
    """
    parent = sessions.get.within(sql, session_id)
    sessions.create.within(sql, new, now=now)
    lines = column(
        sql,
        "SELECT id FROM messages WHERE session_id = ? AND active = 1 ORDER BY id",
        (session_id,),
    )
    for line in lines:
        copy_line(sql, line, new.id)
    run(
        sql,
        "UPDATE sessions SET parent_id = ?, message_count = ? WHERE id = ?",
        (session_id, len(lines), new.id),
    )
    if title is None and parent.title is not None:
        title = _next_in_line(sql, parent.title)
    return sessions.entitle.within(sql, new.id, title, now=now)


@reads
def tip(sql: Sql, session_id: str, *, through: str = "compression") -> Session:
    """The newest session that continues this one, following ends for the given reason."""
    heir = value(
        sql,
        "WITH RECURSIVE line(id, depth) AS (SELECT :id, 0 UNION ALL "
        "SELECT (SELECT max(child.id) FROM sessions child WHERE child.parent_id = line.id), "
        "depth + 1 FROM line JOIN sessions s ON s.id = line.id "
        "WHERE s.end_reason = :through AND depth < 1000) "
        "SELECT id FROM line WHERE id IS NOT NULL ORDER BY depth DESC LIMIT 1",
        {"id": session_id, "through": through},
    )
    return sessions.get.within(sql, heir)


@reads
def ancestry(sql: Sql, session_id: str) -> list[str]:
    """This session, its parent, its parent's parent, and so on."""
    return column(
        sql,
        "WITH RECURSIVE line(id, depth) AS (SELECT :id, 0 UNION ALL "
        "SELECT s.parent_id, depth + 1 FROM line JOIN sessions s ON s.id = line.id "
        "WHERE s.parent_id IS NOT NULL AND depth < 1000) SELECT id FROM line ORDER BY depth",
        {"id": session_id},
    )


def _next_in_line(sql: Sql, title: str) -> str:
    base = re.sub(r" #\d+$", "", title)[: LONGEST_TITLE - 8]
    number = 2
    while value(sql, "SELECT 1 FROM sessions WHERE title = ?", (f"{base} #{number}",)):
        number += 1
    return f"{base} #{number}"
