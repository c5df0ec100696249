"""The store: many small writes that must be on the disk, and a start on a full house."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.result import Result
from benchmarks.rounds import Size
from benchmarks.store import restart, writes


def measure(size: Size) -> Iterator[Result]:
    """All of it."""
    yield from writes.measure(size)
    yield from restart.measure(size)
