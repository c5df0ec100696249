"""What model calls have cost, per day, agent and model, and per session."""

from __future__ import annotations

import msgspec

from hermes_actors.store.operation import reads, writes_soon
from hermes_actors.store.sql import Sql, rows, run, value


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and money of one call, or of many. A micro is a millionth of the currency's unit."""

    calls: int = 1
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cost_micros: int = 0


class DayUsage(Spent, frozen=True, kw_only=True):
    """What one agent has spent on one model in one day."""

    day: str
    agent_id: str
    model: str


@writes_soon
def add(
    sql: Sql, day: str, agent_id: str, model: str, spent: Spent, *, session_id: str | None = None
) -> None:
    """Add a call to its day (as `2031-12-24`) and to its session."""
    counts = msgspec.structs.asdict(spent)
    run(
        sql,
        f"INSERT INTO usage (day, agent_id, model, {', '.join(counts)}) "
        f"VALUES (:day, :agent_id, :model, {', '.join(f':{name}' for name in counts)}) "
        "ON CONFLICT (day, agent_id, model) DO UPDATE SET "
        + ", ".join(f"{name} = {name} + excluded.{name}" for name in counts),
        {"day": day, "agent_id": agent_id, "model": model, **counts},
    )
    del counts["calls"]
    run(
        sql,
        "UPDATE sessions SET "
        + ", ".join(f"{name} = {name} + :{name}" for name in counts)
        + " WHERE id = :session_id",
        {**counts, "session_id": session_id},
    )


@reads
def of_day(sql: Sql, day: str) -> list[DayUsage]:
    """Everything that was spent on a day."""
    return rows(sql, DayUsage, "FROM usage WHERE day = ? ORDER BY agent_id, model", (day,))


@reads
def tokens(sql: Sql, day: str, agent_id: str) -> int:
    """How many tokens an agent has used on a day, in and out: what a daily limit counts."""
    return int(
        value(
            sql,
            "SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM usage "
            "WHERE day = ? AND agent_id = ?",
            (day, agent_id),
        )
    )
