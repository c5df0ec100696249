"""Decisions about life and death, without any waiting in them."""

from __future__ import annotations

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
    """When a child that ended by itself comes back.

    A permanent one always, a transient one after a crash, a temporary one never: not even when a
    sibling's restart was what ended it.
    """

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

    __slots__ = ("_past", "limit")

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self._past: list[_Past] = []

    def spend(self, now: float, cause: BaseException | None) -> bool:
        """Record one restart; False when it is one too many."""
        self._forget(now)
        self._past.append(_Past(now, cause, counts=True))
        return sum(past.counts for past in self._past) <= self.limit.restarts

    def remember(self, now: float, cause: BaseException) -> None:
        """Keep a cause that leads to no restart of its own; it does not count."""
        self._forget(now)
        if sum(not past.counts for past in self._past) < _MOST_ASIDES:
            self._past.append(_Past(now, cause, counts=False))

    def causes(self) -> list[BaseException]:
        """What crashed within the period, oldest first."""
        return [past.cause for past in self._past if past.cause is not None]

    def _forget(self, now: float) -> None:
        while self._past and now - self._past[0].at >= self.limit.period:
            del self._past[0]


class _Past(msgspec.Struct, frozen=True):
    at: float
    cause: BaseException | None
    counts: bool


_MOST_ASIDES = 32
"""The first causes tell most; a child that crashes in every clean-up shall not fill the memory."""


def wants_restart(restart: Restart, ended: Ended) -> bool:
    """Whether a child of this type comes back after this end."""
    if restart is Restart.TRANSIENT:
        return ended.how is How.CRASHED
    return restart is Restart.PERMANENT


def every_cause(error: BaseException) -> list[BaseException]:
    """The leaves of an error, in order; what a lower supervisor gave up on is looked into."""
    found: list[BaseException] = []
    for cause in causes(error):
        deeper = cause.causes if isinstance(cause, Escalation) else ()
        found.extend(leaf for each in deeper for leaf in every_cause(each))
        if not deeper:
            found.append(cause)
    return found


def hopeless(error: BaseException | None) -> Unrecoverable | None:
    """The first cause that a restart cannot help, if there is one."""
    leaves = [] if error is None else every_cause(error)
    return next((cause for cause in leaves if isinstance(cause, Unrecoverable)), None)


def affected(strategy: Strategy, order: Sequence[str], failed: str) -> list[str]:
    """Names to end and start again, in start order."""
    at = order.index(failed)
    if strategy is Strategy.ONE_FOR_ONE:
        return [failed]
    return list(order[at:] if strategy is Strategy.REST_FOR_ONE else order)
