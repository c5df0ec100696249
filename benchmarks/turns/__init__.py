"""Whole turns: from the router through store, session and model, over a real socket, and back."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.result import Result
from benchmarks.rounds import Size
from benchmarks.turns import cost, memory, open_turns, rate, stops


def measure(size: Size) -> Iterator[Result]:
    """All of it."""
    for part in (cost, open_turns, rate, memory, stops):
        yield from part.measure(size)
