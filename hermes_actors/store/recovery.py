"""After a crash: what was left in the middle, and how it is brought to an end.

A run without a terminal row can only be left by a process, or a session, that died. It is ended as
`stopped` for the reason `crash`; its messages go back to wait, and each gets a strike. Too many
strikes make a message a dead letter, so that no message can keep a gateway from living.
"""

from __future__ import annotations

import msgspec

from hermes_actors.store import cron, inbox, letters, messages, outbox, runs, tool_calls
from hermes_actors.store.inbox import InboxMessage
from hermes_actors.store.messages import Message, NewMessage
from hermes_actors.store.operation import reads, writes
from hermes_actors.store.outbox import NewReply, Reply
from hermes_actors.store.runs import Run, RunEnd
from hermes_actors.store.sql import Sql, rows, run
from hermes_actors.store.states import InboxState, RunState, ToolOutcome
from hermes_actors.store.tool_calls import StoredCall

MOST_STRIKES = 3


class Orphan(msgspec.Struct, frozen=True):
    """A run that nobody lives for any more, with all that it left open."""

    run: Run
    open_calls: tuple[StoredCall, ...]
    inbox: tuple[InboxMessage, ...]
    said: tuple[Message, ...]
    replies: tuple[Reply, ...]


class Recovered(msgspec.Struct, frozen=True):
    """The keys of the messages that wait again, and of those that were given up."""

    queued: tuple[str, ...]
    dead: tuple[str, ...]


class Doubts(msgspec.Struct, frozen=True):
    """How many sends and due jobs were under way when the process died."""

    replies: int
    jobs: int


@reads
def orphans(sql: Sql, session_id: str | None = None) -> list[Orphan]:
    """Every run without an end; of one session, if it is given. For boot, when nothing runs yet."""
    # The first condition is the partial index's own, so that ended runs cost nothing.
    left = rows(
        sql,
        Run,
        "FROM runs WHERE state = 'running' AND session_id = coalesce(?, session_id) "
        "ORDER BY started_at, id",
        (session_id,),
    )
    return [_with_all_it_left(sql, each) for each in left]


@writes
def end_orphan(
    sql: Sql,
    run_id: str,
    *,
    now: float,
    sealed: tuple[NewMessage, ...] = (),
    replies: tuple[NewReply, ...] = (),
    most_strikes: int = MOST_STRIKES,
) -> Recovered:
    """End an orphaned run. Its started calls become `unknown`; its terminal hook is owed once."""
    run(
        sql,
        "UPDATE inbox SET strikes = strikes + 1 WHERE run_id = ? AND state = 'claimed'",
        (run_id,),
    )
    poison = [each for each in inbox.of_run.within(sql, run_id) if _is_poison(each, most_strikes)]
    for each in poison:
        _give_up(sql, each, now)
    crashed = RunEnd(
        run_id=run_id,
        state=RunState.STOPPED,
        reason="crash",
        sealed=sealed,
        replies=replies,
        inbox=InboxState.QUEUED,
        started_calls=ToolOutcome.UNKNOWN,
    )
    ended = runs.end.within(sql, crashed, now=now)
    return Recovered(ended.inbox, tuple(each.key for each in poison))


@writes
def doubt(sql: Sql, *, now: float) -> Doubts:
    """At boot, before anything is sent: what was under way may have happened, or not."""
    return Doubts(outbox.doubt.within(sql, now=now), cron.doubt.within(sql, now=now))


def _with_all_it_left(sql: Sql, left: Run) -> Orphan:
    claimed = [each for each in inbox.of_run.within(sql, left.id) if each.state == "claimed"]
    return Orphan(
        left,
        tuple(tool_calls.open_of_run.within(sql, left.id)),
        tuple(claimed),
        tuple(messages.of_run.within(sql, left.id)),
        tuple(outbox.of_run.within(sql, left.id)),
    )


def _is_poison(message: InboxMessage, most_strikes: int) -> bool:
    return message.state is InboxState.CLAIMED and message.strikes >= most_strikes


def _give_up(sql: Sql, message: InboxMessage, now: float) -> None:
    run(
        sql,
        "UPDATE inbox SET state = 'dead', reason = 'crash', finished_at = ? WHERE id = ?",
        (now, message.id),
    )
    letters.bury.within(
        sql,
        "inbox",
        message.key,
        session_key=message.session_key,
        payload=message.payload,
        reason=f"it was in hand at {message.strikes} crashes",
        now=now,
    )
