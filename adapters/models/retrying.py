"""After a failure: wait and try again, go to the next model, or give up. Pure.

Waiting makes sense when the same question may get another answer. Another model makes sense when
it does not share the trouble. A conversation that is too long is too long for the next one as well,
and whoever asked has to shorten it, so it is handed back at once.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hermes_actors.ports import ModelFailed, ModelTrouble
from hermes_actors.pure.backoff import Backoff

_MAY_PASS: frozenset[ModelTrouble] = frozenset(
    ("rate_limited", "overloaded", "unreachable", "timeout", "bad_reply")
)
_AT_ONCE: frozenset[ModelTrouble] = frozenset(
    ("rate_limited", "billing", "unauthorized", "content_filter", "bad_request")
)


class LeftAlone(ModelFailed):
    """Nobody was asked: this provider has failed too often to be asked now."""


class Wait(msgspec.Struct, frozen=True):
    """Try the same model again after this many seconds."""

    seconds: float


class Switch(msgspec.Struct, frozen=True):
    """Ask the next model."""


class GiveUp(msgspec.Struct, frozen=True):
    """Tell whoever asked."""


Step = Wait | Switch | GiveUp


class Policy(msgspec.Struct, frozen=True):
    """How often, how long, and up to which wait a provider's own wish is followed."""

    tries: int = 3
    total: float = 1800.0
    longest_wait: float = 600.0
    backoff: Backoff = Backoff(first=2.0, most=60.0)

    def after(
        self,
        failure: ModelFailed,
        tried: int,
        has_next: bool,
        left: float,
        dice: Callable[[], float],
    ) -> Step:
        """What to do after `tried` tries of one model, with `left` seconds until the deadline."""
        if failure.kind == "context_overflow":
            return GiveUp()
        if has_next and failure.kind in _AT_ONCE:
            return Switch()
        if isinstance(failure, LeftAlone):
            return Switch() if has_next else GiveUp()
        wait = self._wait(failure, tried, dice)
        if (
            failure.kind in _MAY_PASS
            and tried < self.tries
            and wait <= min(self.longest_wait, left)
        ):
            return Wait(wait)
        return Switch() if has_next else GiveUp()

    def _wait(self, failure: ModelFailed, tried: int, dice: Callable[[], float]) -> float:
        """What the provider asked for, and some more so that not everybody returns at once."""
        return (failure.retry_after or 0.0) + self.backoff.delay(tried - 1, dice)
