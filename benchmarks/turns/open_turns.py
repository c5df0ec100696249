"""Whether a turn gets dearer when many others are open: it must not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median
from time import process_time

import trio

from benchmarks.child import figures, tell
from benchmarks.result import Result, at_most
from benchmarks.rounds import Size
from benchmarks.table import number
from benchmarks.turns.child_gateway import Bench, bench

STEPS = (1, 10, 100, 1000)


def measure(size: Size) -> Iterator[Result]:
    """CPU per plain turn beside more and more turns that wait for their model."""
    steps = [size.of(step, least=1) for step in STEPS]
    found = figures(climb, size.of(100), min(size.rounds, 2), *steps)
    each = ", ".join(f"{number(found[str(step)])} beside {number(step)}" for step in steps)
    yield Result(
        name=f"CPU per turn beside {number(steps[-1])} open ones",
        value=found["growth"],
        unit="x",
        target=at_most(1.25),
        beside=f"that beside one open turn, in the same round; ms: {each}",
    )


# In the child --------------------------------------------------------------------------------


def climb(turns: str, rounds: str, *steps: str) -> None:
    """Measure in this process and tell the figures."""
    trio.run(_climb, int(turns), int(rounds), [int(step) for step in steps])


async def _climb(turns: int, rounds: int, steps: list[int]) -> None:
    async with bench() as house:
        climbs = [await _one_climb(house, turns, steps) for _ in range(rounds)]
    costs = zip(*climbs, strict=True)
    by_step = {str(step): median(cost) for step, cost in zip(steps, costs, strict=True)}
    tell(growth=median(climb[-1] / climb[0] for climb in climbs), **by_step)


async def _one_climb(house: Bench, turns: int, steps: list[int]) -> list[float]:
    costs, talks = list[float](), []
    for before, step in pairwise((0, *steps)):
        talks += await house.open_turns(step - before)
        begin = process_time()
        await house.turns(turns)
        costs.append((process_time() - begin) / turns * 1000)
    await house.end_turns(talks)
    return costs
