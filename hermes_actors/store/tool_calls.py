"""Tool calls as facts: meant, begun, ended. A call that had begun when we died is `unknown`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_actors.store import messages
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.operation import reads, writes
from hermes_actors.store.sql import Sql, insert, move, rows, run
from hermes_actors.store.states import TOOL_MOVES, ToolOutcome, ToolState


class NewCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that the model asks for. `arguments` is its own JSON text, which may be broken."""

    call_id: str
    name: str
    arguments: str = "{}"
    idempotent: bool = False


class StoredCall(NewCall, frozen=True, kw_only=True):
    """A call and how far it came."""

    run_id: str
    session_id: str
    state: ToolState
    outcome: ToolOutcome | None
    intended_at: float
    started_at: float | None
    finished_at: float | None


@writes
def intend(
    sql: Sql,
    run_id: str,
    session_id: str,
    calls: Sequence[NewCall],
    *,
    now: float,
    said: Sequence[NewMessage] = (),
) -> None:
    """Record calls together with the lines of the transcript that ask for them."""
    messages.append.within(sql, session_id, said, now=now, run_id=run_id)
    for call in calls:
        insert(sql, "tool_calls", call, run_id=run_id, session_id=session_id, intended_at=now)
    run(
        sql,
        "UPDATE sessions SET tool_call_count = tool_call_count + ? WHERE id = ?",
        (len(calls), session_id),
    )


@writes
def start(sql: Sql, run_id: str, call_id: str, *, now: float) -> None:
    """The call may have an effect from now on."""
    key = {"run_id": run_id, "call_id": call_id}
    move(sql, "tool_calls", key, ToolState.STARTED, TOOL_MOVES, started_at=now)


@writes
def finish(
    sql: Sql,
    run_id: str,
    call_id: str,
    outcome: ToolOutcome,
    *,
    now: float,
    result: NewMessage | None = None,
) -> None:
    """The call's outcome is known; it is kept together with the line that tells the model."""
    key = {"run_id": run_id, "call_id": call_id}
    move(sql, "tool_calls", key, ToolState.FINISHED, TOOL_MOVES, outcome=outcome, finished_at=now)
    if result is not None:
        (call,) = rows(
            sql, StoredCall, "FROM tool_calls WHERE run_id = ? AND call_id = ?", (run_id, call_id)
        )
        messages.append.within(sql, call.session_id, [result], now=now, run_id=run_id)


@writes
def close_all(sql: Sql, run_id: str, *, now: float, started: ToolOutcome) -> int:
    """End every open call of a run; `started` is said of those that had begun. How many."""
    closed = run(
        sql,
        "UPDATE tool_calls SET outcome = CASE state WHEN 'started' THEN ? ELSE 'cancelled' END, "
        "state = 'finished', finished_at = ? WHERE run_id = ? AND state <> 'finished' RETURNING 1",
        (started, now, run_id),
    )
    return len(closed)


@reads
def of_run(sql: Sql, run_id: str) -> list[StoredCall]:
    """Every call of a run, by the time it was meant."""
    return rows(
        sql,
        StoredCall,
        "FROM tool_calls WHERE run_id = ? ORDER BY intended_at, call_id",
        (run_id,),
    )


@reads
def open_of_run(sql: Sql, run_id: str) -> list[StoredCall]:
    """The calls of a run that have no outcome yet."""
    return [call for call in of_run.within(sql, run_id) if call.outcome is None]
