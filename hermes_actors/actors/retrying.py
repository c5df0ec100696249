"""Answering the last message again: its answer is taken back in the step in which it runs anew."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_actors.store import revisions, runs
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.operation import reads, writes
from hermes_actors.store.runs import NewRun, Run
from hermes_actors.store.sql import Sql, value


@reads
def last_words(sql: Sql, session_id: str) -> str | None:
    """What the person said last and has not taken back."""
    said: str | None = value(
        sql,
        "SELECT content FROM messages WHERE session_id = ? AND active = 1 AND role = 'user' "
        "ORDER BY id DESC LIMIT 1",
        (session_id,),
    )
    return said


@writes
def begin_again(
    sql: Sql, new: NewRun, *, now: float, claim: Sequence[int], said: Sequence[NewMessage]
) -> Run:
    """Take back the last message with all that followed, and begin a run that says it again."""
    revisions.rewind.within(sql, new.session_id, 1, now=now)
    return runs.begin.within(sql, new, now=now, claim=claim, said=said)
