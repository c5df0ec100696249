"""The closed sets, and which state may follow which.

Every table with a `state` column moves only along these tables, by compare-and-swap: the update
names the states it may leave, so of two who try, the first wins and the second is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class RunState(StrEnum):
    """One turn of an agent. Everything but RUNNING is an end, and there is exactly one."""

    RUNNING = "running"
    COMPLETED = "completed"
    STOPPED = "stopped"
    HALTED = "halted"
    FAILED = "failed"
    EXPIRED = "expired"


class ToolState(StrEnum):
    """INTENT: about to call. STARTED: may have had its effect. FINISHED: the outcome is known."""

    INTENT = "intent"
    STARTED = "started"
    FINISHED = "finished"


class ToolOutcome(StrEnum):
    """How a tool call ended; UNKNOWN when the process died while it was started."""

    OK = "ok"
    ERROR = "error"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    DENIED = "denied"
    UNKNOWN = "unknown"


class InboxState(StrEnum):
    """A message from outside: QUEUED and CLAIMED are open, the rest are ends."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    ANSWERED = "answered"
    STOPPED = "stopped"
    WITHDRAWN = "withdrawn"
    REJECTED = "rejected"
    DEAD = "dead"


class OutboxState(StrEnum):
    """A visible reply. PREVIEW has no final text yet; UNSURE may or may not have been seen."""

    PREVIEW = "preview"
    QUEUED = "queued"
    SENDING = "sending"
    UNSURE = "unsure"
    SENT = "sent"
    DEAD = "dead"


class HandoffState(StrEnum):
    """A conversation on its way to another surface."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class ApprovalState(StrEnum):
    """A question to a person. Silence (EXPIRED) is not a denial, and neither is a stop."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNREACHABLE = "unreachable"


class CronState(StrEnum):
    """What became of one due moment of one job."""

    DISPATCHED = "dispatched"
    OK = "ok"
    FAILED = "failed"
    STOPPED = "stopped"
    SKIPPED = "skipped"
    MISSED = "missed"
    UNKNOWN = "unknown"


Moves = Mapping[StrEnum, frozenset[StrEnum]]


def _moves(table: Mapping[StrEnum, tuple[StrEnum, ...]]) -> Moves:
    """Store a table of "from: to, to, to" with every state as a key."""
    states = type(next(iter(table)))
    return {state: frozenset(table.get(state, ())) for state in states}


_RUN, _TOOL, _IN, _OUT = RunState, ToolState, InboxState, OutboxState

RUN_MOVES = _moves(
    {_RUN.RUNNING: (_RUN.COMPLETED, _RUN.STOPPED, _RUN.HALTED, _RUN.FAILED, _RUN.EXPIRED)}
)
TOOL_MOVES = _moves(
    {_TOOL.INTENT: (_TOOL.STARTED, _TOOL.FINISHED), _TOOL.STARTED: (_TOOL.FINISHED,)}
)
INBOX_MOVES = _moves(
    {
        _IN.QUEUED: (_IN.CLAIMED, _IN.WITHDRAWN, _IN.REJECTED, _IN.DEAD),
        _IN.CLAIMED: (_IN.QUEUED, _IN.ANSWERED, _IN.STOPPED, _IN.DEAD),
    }
)
OUTBOX_MOVES = _moves(
    {
        _OUT.PREVIEW: (_OUT.QUEUED, _OUT.DEAD),
        _OUT.QUEUED: (_OUT.SENDING, _OUT.DEAD),
        _OUT.SENDING: (_OUT.SENT, _OUT.QUEUED, _OUT.UNSURE, _OUT.DEAD),
        _OUT.UNSURE: (_OUT.SENDING, _OUT.SENT, _OUT.DEAD),
    }
)
HANDOFF_MOVES = _moves(
    {
        HandoffState.PENDING: (HandoffState.RUNNING, HandoffState.FAILED),
        HandoffState.RUNNING: (HandoffState.COMPLETED, HandoffState.FAILED),
    }
)
APPROVAL_MOVES = _moves(
    {ApprovalState.PENDING: tuple(state for state in ApprovalState if state != "pending")}
)
CRON_MOVES = _moves(
    {CronState.DISPATCHED: (CronState.OK, CronState.FAILED, CronState.STOPPED, CronState.UNKNOWN)}
)


def before(moves: Moves, state: StrEnum) -> tuple[StrEnum, ...]:
    """The states that may become `state`."""
    return tuple(earlier for earlier, later in moves.items() if state in later)
