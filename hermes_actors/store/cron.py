"""Due moments of jobs. A moment has one row, so it is dispatched once, whatever clocks do."""

from __future__ import annotations

import msgspec

from hermes_actors.store.operation import reads, writes
from hermes_actors.store.sql import Sql, move, row, rows, run, value
from hermes_actors.store.states import CRON_MOVES, CronState


class Instant(msgspec.Struct, frozen=True, kw_only=True):
    """A moment at which a job was due, and what became of it."""

    job_id: str
    due: float
    agent_id: str
    state: CronState
    late_by: float
    run_id: str | None
    detail: str | None
    recorded_at: float
    ended_at: float | None


@writes
def record(
    sql: Sql,
    job_id: str,
    due: float,
    *,
    agent_id: str,
    now: float,
    state: CronState = CronState.DISPATCHED,
    detail: str | None = None,
) -> bool:
    """Take a due moment, before the job is begun; True for exactly one of those who try.

    SKIPPED and MISSED moments are taken too, so that nobody catches up on them later.
    """
    ended = None if state is CronState.DISPATCHED else now
    taken = value(
        sql,
        "INSERT INTO cron_instants (job_id, due, agent_id, state, late_by, detail, recorded_at, "
        "ended_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1",
        (job_id, due, agent_id, state, max(now - due, 0.0), detail, now, ended),
    )
    return taken is not None


@writes
def finish(
    sql: Sql,
    job_id: str,
    due: float,
    state: CronState,
    *,
    now: float,
    run_id: str | None = None,
    detail: str | None = None,
) -> None:
    """Say how it went."""
    key = {"job_id": job_id, "due": due}
    move(
        sql,
        "cron_instants",
        key,
        state,
        CRON_MOVES,
        ended_at=now,
        run_id=run_id,
        detail=detail,
    )


@reads
def last(sql: Sql, job_id: str) -> Instant | None:
    """The latest due moment of a job that was ever taken."""
    return row(
        sql, Instant, "FROM cron_instants WHERE job_id = ? ORDER BY due DESC LIMIT 1", (job_id,)
    )


@reads
def history(sql: Sql, job_id: str, *, limit: int = 50) -> list[Instant]:
    """What became of the last due moments of a job, latest first."""
    return rows(
        sql,
        Instant,
        "FROM cron_instants WHERE job_id = ? ORDER BY due DESC LIMIT ?",
        (job_id, limit),
    )


@writes
def doubt(sql: Sql, *, now: float) -> int:
    """At boot: jobs that were under way when the process died; how many."""
    doubted = run(
        sql,
        "UPDATE cron_instants SET state = 'unknown', ended_at = ?, "
        "detail = 'the process ended while it ran' WHERE state = 'dispatched' RETURNING 1",
        (now,),
    )
    return len(doubted)


@writes
def prune(sql: Sql, *, before: float) -> int:
    """Forget moments that were due before then, but never the last of a job; how many."""
    gone = run(
        sql,
        "DELETE FROM cron_instants AS old WHERE due < ? AND state <> 'dispatched' AND due < "
        "(SELECT max(due) FROM cron_instants WHERE job_id = old.job_id) RETURNING 1",
        (before,),
    )
    return len(gone)
