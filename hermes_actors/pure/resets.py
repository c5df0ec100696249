"""When a conversation starts afresh by itself: after a silence, at an hour of the day, or never.

Told the time. Hours are local, and the difference to UTC changes twice a year in many places, so
it is handed in as a function of the moment (a plain number will do where it never changes).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

Mode = Literal["none", "idle", "daily", "both"]
Reason = Literal["idle", "daily"]
Offset = float | Callable[[float], float]
"""Seconds east of UTC, or a function that says them for a moment."""

_DAY, _HOUR, _MINUTE = 86_400, 3600, 60

NOTICES: dict[Reason, str] = {
    "idle": "It has been quiet here for a while, so this is a new conversation. "
    "/resume brings the earlier one back.",
    "daily": "A new day, a new conversation. /resume brings the earlier one back.",
}


class ResetPolicy(msgspec.Struct, frozen=True):
    """`at_hour` is the local hour of a daily reset, `idle_minutes` the silence of an idle one."""

    mode: Mode = "none"
    at_hour: int = 4
    idle_minutes: int = 1440


def reset_reason(
    policy: ResetPolicy, last_active: float, now: float, offset: Offset = 0.0, *, at_work: bool
) -> Reason | None:
    """Why the next message begins a new conversation, or None.

    `last_active` and `now` are seconds since 1970. `at_work`: something of the conversation still
    runs, such as a background process; then it is kept, whatever the policy says.
    """
    if at_work:
        return None
    if policy.mode in ("idle", "both") and now - last_active >= policy.idle_minutes * _MINUTE:
        return "idle"
    if policy.mode in ("daily", "both") and last_active < last_boundary(policy, now, offset):
        return "daily"
    return None


def last_boundary(policy: ResetPolicy, now: float, offset: Offset = 0.0) -> float:
    """The latest moment up to `now` at which the local clock reached `at_hour`."""
    local = now + _east(offset, now)
    for day in (local // _DAY, local // _DAY - 1):
        wall = day * _DAY + policy.at_hour * _HOUR
        moment = wall - _east(offset, now)
        # The clocks may have changed since then: ask again for that moment itself.
        moment = wall - _east(offset, moment)
        if moment <= now:
            return moment
    return moment - _DAY


def _east(offset: Offset, moment: float) -> float:
    return offset(moment) if callable(offset) else offset
