"""Decisions about life and death, without any waiting in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from hermes_actors.errors import Escalation, Unrecoverable
from hermes_actors.runtime import Ended, How
from hermes_actors.runtime.crash import causes


class Strategy(StrEnum):
    """Who is restarted together with a child that ended."""

    ONE_FOR_ONE = "one_for_one"
    REST_FOR_ONE = "rest_for_one"
    ONE_FOR_ALL = "one_for_all"


class Restart(StrEnum):
    """When a child that ended by itself comes back."""

    PERMANENT = "permanent"
    TRANSIENT = "transient"
    TEMPORARY = "temporary"


class Limit(msgspec.Struct, frozen=True):
    """At most `restarts` within `period` seconds; one more and the supervisor gives up.

    Limits multiply over levels: three above three can mean nine restarts of the lowest child
    before the root notices. Keep them low near the top.
    """

    restarts: int = 3
    period: float = 60.0


class RestartBudget:
    """Counts restarts against a `Limit`, exact to the count. Told the time, never asks for it."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self._spent: deque[tuple[float, BaseException | None]] = deque()
        self._asides: deque[BaseException] = deque(maxlen=32)

    def spend(self, now: float, cause: BaseException | None) -> bool:
        """Record one restart; False when it is one too many."""
        self._forget(now)
        self._spent.append((now, cause))
        return len(self._spent) <= self.limit.restarts

    def remember(self, cause: BaseException) -> None:
        """Keep a cause that leads to no restart of its own; it does not count."""
        self._asides.append(cause)

    def causes(self) -> list[BaseException]:
        """What crashed: remembered causes first, then those that were counted, oldest first."""
        return [*self._asides, *(cause for _, cause in self._spent if cause is not None)]

    def _forget(self, now: float) -> None:
        while self._spent and now - self._spent[0][0] >= self.limit.period:
            self._spent.popleft()


def wants_restart(restart: Restart, ended: Ended) -> bool:
    """Whether a child of this type comes back after this end."""
    if restart is Restart.TRANSIENT:
        return ended.how is How.CRASHED
    return restart is Restart.PERMANENT


def hopeless(error: BaseException | None) -> Unrecoverable | None:
    """The first cause that a restart cannot help, if there is one."""
    if error is None:
        return None
    for cause in causes(error):
        if isinstance(cause, Unrecoverable):
            return cause
        if isinstance(cause, Escalation):
            return next(filter(None, map(hopeless, cause.causes)), None)
    return None


def affected(strategy: Strategy, order: Sequence[str], failed: str) -> list[str]:
    """Names to end and start again, in start order."""
    at = order.index(failed)
    if strategy is Strategy.ONE_FOR_ONE:
        return [failed]
    return list(order[at:] if strategy is Strategy.REST_FOR_ONE else order)
