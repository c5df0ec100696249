"""Questions to a person about one tool call. Only their owner may answer, and only in time.

An approval is good for exactly what was asked: the run's epoch and the digest of the arguments must
be the same when it is answered. Silence and a stop are not denials, and are told apart from one.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_actors.errors import StoreRefused
from hermes_actors.store.operation import reads, writes
from hermes_actors.store.sql import Sql, column, insert, move, must, row, rows, value
from hermes_actors.store.states import APPROVAL_MOVES, ApprovalState

Scope = Literal["once", "session", "always"]


class NewApproval(msgspec.Struct, frozen=True, kw_only=True):
    """A question. `owner` is who may answer; `args_digest` stands for what exactly is asked."""

    id: str
    session_id: str
    run_id: str
    call_id: str
    tool: str
    args_digest: str
    owner: str
    epoch: int
    description: str = ""
    expires_at: float | None = None


class Approval(NewApproval, frozen=True, kw_only=True):
    """A question and its answer."""

    state: ApprovalState
    scope: Scope
    reason: str | None
    decided_by: str | None
    asked_at: float
    decided_at: float | None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, with everything that must match the question."""

    id: str
    by: str
    approve: bool
    epoch: int
    args_digest: str
    scope: Scope = "once"
    reason: str | None = None


@writes
def ask(sql: Sql, new: NewApproval, *, now: float) -> None:
    """Keep a question before anybody is asked."""
    insert(sql, "approvals", new, asked_at=now)


@writes
def decide(sql: Sql, decision: Decision, *, now: float) -> Approval:
    """Answer a question.

    Refused as 'conflict' when it has an answer, is too late, or is about something else, and as
    'invalid' when the one who answers is not its owner.
    """
    asked = get.within(sql, decision.id)
    if decision.by != asked.owner:
        raise StoreRefused("invalid", f"'{decision.by}' may not answer this question")
    if (decision.epoch, decision.args_digest) != (asked.epoch, asked.args_digest):
        raise StoreRefused("conflict", "what is to be done has changed since this was asked")
    if asked.expires_at is not None and now >= asked.expires_at:
        raise StoreRefused("conflict", "the time to answer this question is over")
    state = ApprovalState.APPROVED if decision.approve else ApprovalState.DENIED
    move(
        sql,
        "approvals",
        {"id": decision.id},
        state,
        APPROVAL_MOVES,
        scope=decision.scope,
        reason=decision.reason,
        decided_by=decision.by,
        decided_at=now,
    )
    return get.within(sql, decision.id)


@writes
def close(sql: Sql, approval_id: str, state: ApprovalState, *, now: float) -> None:
    """End a question that got no answer: EXPIRED, CANCELLED or UNREACHABLE."""
    if state in (ApprovalState.APPROVED, ApprovalState.DENIED):
        raise StoreRefused("invalid", "only an answer can approve or deny: use `decide`")
    move(sql, "approvals", {"id": approval_id}, state, APPROVAL_MOVES, decided_at=now)


@writes
def expire(sql: Sql, *, now: float) -> list[str]:
    """End every question whose time is over; their ids."""
    return _close_where(sql, ApprovalState.EXPIRED, "expires_at <= :now", {"now": now})


@writes
def cancel_of_run(sql: Sql, run_id: str, *, now: float) -> list[str]:
    """End the open questions of a run; their ids."""
    return _close_where(
        sql, ApprovalState.CANCELLED, "run_id = :run_id", {"now": now, "run_id": run_id}
    )


@reads
def get(sql: Sql, approval_id: str) -> Approval:
    """The question with this id; refused as 'missing' when there is none."""
    found = row(sql, Approval, "FROM approvals WHERE id = ?", (approval_id,))
    return must(found, f"approval '{approval_id}'")


@reads
def pending(sql: Sql, session_id: str) -> list[Approval]:
    """The open questions of a session, oldest first."""
    return rows(
        sql,
        Approval,
        "FROM approvals WHERE session_id = ? AND state = 'pending' ORDER BY asked_at, rowid",
        (session_id,),
    )


@reads
def granted(sql: Sql, session_id: str, tool: str, args_digest: str) -> bool:
    """Whether the same call was approved for the rest of the session, or for always."""
    found = value(
        sql,
        "SELECT 1 FROM approvals WHERE session_id = ? AND tool = ? AND args_digest = ? "
        "AND state = 'approved' AND scope <> 'once' LIMIT 1",
        (session_id, tool, args_digest),
    )
    return found is not None


def _close_where(
    sql: Sql, state: ApprovalState, where: str, bindings: dict[str, object]
) -> list[str]:
    closed = column(
        sql,
        f"UPDATE approvals SET state = '{state}', decided_at = :now "
        f"WHERE state = 'pending' AND {where} RETURNING id",
        bindings,
    )
    return sorted(closed)
