"""How a run can end: the closed set of states and reasons, as values.

completed   ok
stopped     somebody or something outside cut it: a person, a newer message, a shutdown
halted      a limit of ours was reached: guardrail, budget, iterations, approval denied
failed      something it needs did not work: the provider, the store, ourselves
expired     its time was up
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

State = Literal["completed", "stopped", "halted", "failed", "expired"]
Completed = Literal["ok"]
Stopped = Literal[
    "user_stop",
    "new_session",
    "superseded",
    "client_disconnected",
    "handoff",
    "shutdown",
    "supervisor",
    "crash",
]
Halted = Literal["guardrail", "budget", "max_iterations", "denied"]
Failed = Literal["provider", "store", "internal"]
Expired = Literal["deadline", "idle"]
Reason = Completed | Stopped | Halted | Failed | Expired

REASONS: dict[State, tuple[Reason, ...]] = {
    "completed": get_args(Completed),
    "stopped": get_args(Stopped),
    "halted": get_args(Halted),
    "failed": get_args(Failed),
    "expired": get_args(Expired),
}


class Ending(msgspec.Struct, frozen=True):
    """One way to end. A reason belongs to exactly one state, so the reason says it all."""

    state: State
    reason: Reason


def ending(reason: Reason) -> Ending:
    """The ending with this reason."""
    return _BY_REASON[reason]


ENDINGS: tuple[Ending, ...] = tuple(
    Ending(state, reason) for state, reasons in REASONS.items() for reason in reasons
)
_BY_REASON: dict[Reason, Ending] = {each.reason: each for each in ENDINGS}
OK = ending("ok")
