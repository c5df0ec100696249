"""A number with its unit, its target and what it was measured beside."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Verdict(StrEnum):
    """Whether a target is met. A number without a target is there to be read."""

    PASS = "PASS"
    MISS = "miss"
    NONE = "-"


class Target(msgspec.Struct, frozen=True):
    """A bound: at least that much, or at most."""

    bound: float
    at_most: bool

    def met_by(self, value: float) -> bool:
        """The bound itself counts as met."""
        return value <= self.bound if self.at_most else value >= self.bound


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement. `beside` says what it compares to and how it was taken."""

    name: str
    value: float
    unit: str
    beside: str
    target: Target | None = None

    @property
    def verdict(self) -> Verdict:
        """What the number means for the target."""
        if self.target is None:
            return Verdict.NONE
        return Verdict.PASS if self.target.met_by(self.value) else Verdict.MISS


def at_least(bound: float) -> Target:
    """A target for what should be large."""
    return Target(bound, at_most=False)


def at_most(bound: float) -> Target:
    """A target for what should be small."""
    return Target(bound, at_most=True)
