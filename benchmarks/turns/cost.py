"""What a turn costs while nothing else happens: CPU time of the gateway's process, all its threads.

The model answers at once, so nothing is measured but us. What is before the router (a chat's
adapter, the HTTP server) is not in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import process_time

import trio

from benchmarks.child import figures, tell
from benchmarks.result import Result, at_most
from benchmarks.rounds import Size
from benchmarks.table import number
from benchmarks.turns.child_gateway import Bench, bench

HERMES_MS, NANOBOT_MS = 165.0, 55.0
"""Anchors: CPU per plain turn of hermes-agent 0.19.0 and nanobot 0.3.5 on two quiet cores."""
MANY = 40


def measure(size: Size) -> Iterator[Result]:
    """The median of rounds, each of some conversations of ten turns."""
    found = figures(spend, size.of(100), size.rounds)
    plain, first, many = found["plain"], found["first"], found["many"]
    yield Result(
        name="CPU per plain turn",
        value=plain,
        unit="ms",
        target=at_most(min(HERMES_MS / 40, NANOBOT_MS / 15)),
        beside=f"1/{number(HERMES_MS / plain)} of hermes-agent's {number(HERMES_MS)} ms and "
        f"1/{number(NANOBOT_MS / plain)} of nanobot's {number(NANOBOT_MS)} ms (anchors)",
    )
    yield Result(
        name="CPU per first turn of a conversation",
        value=first,
        unit="ms",
        beside=f"a turn in one that exists {number(plain)} ms",
    )
    yield Result(
        name=f"CPU per turn of {MANY} deltas",
        value=many,
        unit="ms",
        beside=f"{number((many - plain) / (MANY - 1) * 1000)} µs for each delta, to one reader",
    )


# In the child --------------------------------------------------------------------------------


def spend(turns: str, rounds: str) -> None:
    """Measure in this process and tell the figures."""
    trio.run(_spend, int(turns), int(rounds))


async def _spend(turns: int, rounds: int) -> None:
    async with bench() as house:
        plain, first, many = list[float](), list[float](), list[float]()
        for _ in range(rounds):
            plain.append(await _per_turn(house, turns))
            first.append(await _per_turn(house, turns, each=1))
            many.append(await _per_turn(house, turns, MANY))
    tell(plain=median(plain), first=median(first), many=median(many))


async def _per_turn(house: Bench, turns: int, deltas: int = 1, each: int = 10) -> float:
    begin = process_time()
    await house.turns(turns, deltas, each=each)
    return (process_time() - begin) / turns * 1000
