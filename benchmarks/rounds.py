"""Repeating, so that one bad moment of the machine decides nothing.

Two things are compared by running them in turns, and the answer is the median of the ratios of
neighbours: a busy second slows both of a pair. An absolute time is the median of its rounds.
Nothing is taken as "the best of": what a busy machine cannot do, it does not claim.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import msgspec


class Size(msgspec.Struct, frozen=True):
    """How much to do. `share` scales counts, so that tests can run everything in no time."""

    share: float = 1.0
    rounds: int = 5

    def of(self, full: int, least: int = 10) -> int:
        """That many, scaled."""
        return max(least, round(full * self.share))


FULL = Size()
TINY = Size(share=0.001, rounds=1)


class Pair(msgspec.Struct, frozen=True):
    """Two rates measured in turns: ours, theirs, and how many times theirs ours is."""

    ours: float
    theirs: float
    ratio: float


def in_turns(ours: Callable[[], float], theirs: Callable[[], float], rounds: int) -> Pair:
    """Compare two rates. Who goes first changes every round."""
    pairs = [_one_of_each(ours, theirs, ours_first=bool(n % 2)) for n in range(rounds)]
    return Pair(
        median(ours for ours, _ in pairs),
        median(theirs for _, theirs in pairs),
        median(ours / theirs for ours, theirs in pairs),
    )


def _one_of_each(
    ours: Callable[[], float], theirs: Callable[[], float], *, ours_first: bool
) -> tuple[float, float]:
    if ours_first:
        mine = ours()
        return mine, theirs()
    other = theirs()
    return ours(), other


def typical(measure: Callable[[], float], rounds: int) -> float:
    """The median of some rounds."""
    return median(measure() for _ in range(rounds))
