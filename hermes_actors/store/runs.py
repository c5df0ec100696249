"""Turns of an agent. A run begins once, and leaves `running` once, whoever tries.

Its end is one transaction: the terminal row, the sealed transcript, the fate of its tool calls and
of the messages it had in hand, and the words that will be sent about it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_actors.errors import StoreRefused
from hermes_actors.store import approvals, bindings, inbox, messages, outbox, tool_calls
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.operation import reads, writes, writes_soon
from hermes_actors.store.outbox import NewReply
from hermes_actors.store.sql import Sql, column, insert, move, must, row, rows, run
from hermes_actors.store.states import (
    INBOX_MOVES,
    RUN_MOVES,
    InboxState,
    RunState,
    ToolOutcome,
)


class NewRun(msgspec.Struct, frozen=True, kw_only=True):
    """A turn to be."""

    id: str
    session_id: str
    session_key: str
    agent_id: str
    platform: str = ""


class Run(NewRun, frozen=True, kw_only=True):
    """A turn, and how it ended."""

    state: RunState
    reason: str | None
    detail: str | None
    phase: str
    started_at: float
    ended_at: float | None
    hook_fired: bool


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that becomes true when a run ends.

    `inbox` is the fate of the messages it had in hand: by default STOPPED for a stopped run and
    ANSWERED for any other; QUEUED gives them back to wait for the next one.
    """

    run_id: str
    state: RunState
    reason: str
    detail: str | None = None
    sealed: tuple[NewMessage, ...] = ()
    replies: tuple[NewReply, ...] = ()
    inbox: InboxState | None = None
    started_calls: ToolOutcome = ToolOutcome.CANCELLED


class Ended(msgspec.Struct, frozen=True):
    """What the end has touched: messages by key, outbox rows, and how many open calls."""

    inbox: tuple[str, ...]
    outbox: tuple[int, ...]
    calls: int


@writes
def begin(
    sql: Sql, new: NewRun, *, now: float, claim: Sequence[int] = (), said: Sequence[NewMessage] = ()
) -> Run:
    """Begin a run, take its messages in hand, write their words down and note the key's use.

    `claim` are inbox ids, which must be the first that wait. Refused as 'conflict' when they are
    not, or when another run of the session has not ended.
    """
    other = running.within(sql, new.session_id)
    if other is not None:
        raise StoreRefused("conflict", f"run '{other.id}' of this session has not ended yet")
    first = inbox.queued.within(sql, new.session_key, limit=len(claim))
    if [each.id for each in first] != list(claim):
        raise StoreRefused("conflict", f"messages {list(claim)} are not the first that wait")
    insert(sql, "runs", new, started_at=now)
    inbox.claim.within(sql, claim, new.id)
    messages.append.within(sql, new.session_id, said, now=now, run_id=new.id)
    bindings.touch.within(sql, new.session_key, now=now)
    return get.within(sql, new.id)


@writes_soon
def enter(sql: Sql, run_id: str, phase: str) -> None:
    """Note what a run is doing, for those who look after a crash."""
    run(sql, "UPDATE runs SET phase = ? WHERE id = ? AND state = 'running'", (phase, run_id))


@writes
def end(sql: Sql, ending: RunEnd, *, now: float) -> Ended:
    """End a run. Of two who try the first wins; the second is refused and changes nothing."""
    move(
        sql,
        "runs",
        {"id": ending.run_id},
        ending.state,
        RUN_MOVES,
        reason=ending.reason,
        detail=ending.detail,
        ended_at=now,
    )
    ended = get.within(sql, ending.run_id)
    messages.append.within(sql, ended.session_id, ending.sealed, now=now, run_id=ended.id)
    calls = tool_calls.close_all.within(sql, ended.id, now=now, started=ending.started_calls)
    approvals.cancel_of_run.within(sql, ended.id, now=now)
    replies = [outbox.queue.within(sql, reply, now=now) for reply in ending.replies]
    outbox.abandon_previews.within(sql, ended.id, now=now)
    return Ended(_settle_inbox(sql, ended, ending.inbox, now), tuple(replies), calls)


@writes
def take_hook_duty(sql: Sql, run_id: str) -> bool:
    """Take the duty to fire the terminal hook of an ended run; True for exactly one caller."""
    taken = run(
        sql,
        "UPDATE runs SET hook_fired = 1 WHERE id = ? AND hook_fired = 0 AND state <> 'running' "
        "RETURNING 1",
        (run_id,),
    )
    return bool(taken)


@reads
def find(sql: Sql, run_id: str) -> Run | None:
    """The run with this id."""
    return row(sql, Run, "FROM runs WHERE id = ?", (run_id,))


@reads
def get(sql: Sql, run_id: str) -> Run:
    """The run with this id; refused as 'missing' when there is none."""
    return must(find.within(sql, run_id), f"run '{run_id}'")


@reads
def running(sql: Sql, session_id: str) -> Run | None:
    """The run of this session that has not ended; there is at most one."""
    return row(sql, Run, "FROM runs WHERE session_id = ? AND state = 'running'", (session_id,))


@reads
def owing_hook(sql: Sql, *, limit: int = 1000) -> list[Run]:
    """Ended runs whose terminal hook nobody has taken the duty to fire."""
    return rows(
        sql,
        Run,
        "FROM runs WHERE hook_fired = 0 AND state <> 'running' ORDER BY id LIMIT ?",
        (limit,),
    )


@reads
def of_session(sql: Sql, session_id: str, *, limit: int = 50) -> list[Run]:
    """The last runs of a session, newest first."""
    return rows(
        sql,
        Run,
        "FROM runs WHERE session_id = ? ORDER BY started_at DESC, rowid DESC LIMIT ?",
        (session_id, limit),
    )


def _settle_inbox(sql: Sql, ended: Run, fate: InboxState | None, now: float) -> tuple[str, ...]:
    if fate is None:
        stopped = ended.state is RunState.STOPPED
        fate = InboxState.STOPPED if stopped else InboxState.ANSWERED
    if fate not in INBOX_MOVES[InboxState.CLAIMED]:
        raise StoreRefused("invalid", f"a message in hand cannot become '{fate}'")
    again = fate is InboxState.QUEUED
    keys = column(
        sql,
        "UPDATE inbox SET state = ?, reason = ?, finished_at = ?, run_id = ? "
        "WHERE run_id = ? AND state = 'claimed' RETURNING key",
        (fate, ended.reason, None if again else now, None if again else ended.id, ended.id),
    )
    return tuple(sorted(keys))
