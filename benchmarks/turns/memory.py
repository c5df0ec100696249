"""What an open turn holds while its model thinks: the growth of a fresh process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from statistics import median

import psutil  # type: ignore[import-untyped]  # it has no types of its own
import trio

from benchmarks.child import figures, tell
from benchmarks.result import Result, at_most
from benchmarks.rounds import Size
from benchmarks.table import number
from benchmarks.turns.child_gateway import bench
from benchmarks.turns.script import Hang

BEFORE = 100
"""Turns that are open before the first look: what is made once has been made by then."""


def measure(size: Size) -> Iterator[Result]:
    """A process for each round, and for each place to hang in."""
    count = size.of(1000)
    for hang, words in (("before", "that wait for a model"), ("middle", "in mid-stream")):
        each = [figures(weigh, count, hang) for _ in range(min(size.rounds, 2))]
        yield Result(
            name=f"memory of an open turn, {number(count)} {words}",
            value=median(one["bytes_each"] for one in each) / 1024,
            unit="KiB",
            target=at_most(60),
            beside="session, turn, connection and reader (resident memory of a fresh process); "
            "hermes-agent holds 6 turns, nanobot 203 KiB each (anchors)",
        )


# In the child --------------------------------------------------------------------------------


def weigh(count: str, hang: Hang) -> None:
    """Measure in this process, which must be a fresh one, and tell the figure."""
    trio.run(_weigh, int(count), hang)


async def _weigh(count: int, hang: Hang) -> None:
    async with bench() as house:
        talks = await house.open_turns(min(count, BEFORE), hang)
        before = _resident()
        talks += await house.open_turns(count, hang)
        after = _resident()
        await house.end_turns(talks)
    tell(bytes_each=(after - before) / count)


def _resident() -> int:
    gc.collect()
    resident: int = psutil.Process().memory_info().rss
    return resident
