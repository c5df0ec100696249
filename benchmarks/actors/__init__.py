"""The kernel: messages, questions, idle actors, a tree that is cut, and control past a queue."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.actors import ask, control, idle, tell, tree
from benchmarks.result import Result
from benchmarks.rounds import Size


def measure(size: Size) -> Iterator[Result]:
    """All of it."""
    for part in (tell, ask, idle, tree, control):
        yield from part.measure(size)
