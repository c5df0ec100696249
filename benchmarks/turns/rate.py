"""How many turns a second when many people talk at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import perf_counter, process_time

import trio

from benchmarks.child import figures, tell
from benchmarks.result import Result
from benchmarks.rounds import Size
from benchmarks.table import number
from benchmarks.turns.child_gateway import bench
from benchmarks.turns.gateway import Conversation
from benchmarks.turns.script import Script

TALKERS = 32
HERMES_RATE, NANOBOT_RATE = 8.3, 17.0


def measure(size: Size) -> Iterator[Result]:
    """Turns per second of wall-clock time; the model has a process, and so a core, of its own."""
    found = figures(talk, size.of(10, least=2), min(size.rounds, 3))
    yield Result(
        name=f"turns a second, {TALKERS} conversations at once",
        value=found["rate"],
        unit="/s",
        beside=f"{number(found['cpu'])} ms of CPU each; hermes-agent {HERMES_RATE:g}/s, "
        f"nanobot {NANOBOT_RATE:g}/s (anchors; wall-clock time)",
    )


# In the child --------------------------------------------------------------------------------


def talk(turns: str, rounds: str) -> None:
    """Measure in this process and tell the figures."""
    trio.run(_talk, int(turns), int(rounds))


async def _talk(turns: int, rounds: int) -> None:
    rates, costs = list[float](), list[float]()
    async with bench() as house:
        for _ in range(rounds):
            talks = [await house.conversation() for _ in range(TALKERS)]
            rate, cost = await _together(talks, turns)
            rates.append(rate)
            costs.append(cost)
    tell(rate=median(rates), cpu=median(costs))


async def _together(talks: list[Conversation], turns: int) -> tuple[float, float]:
    begin, spent = perf_counter(), process_time()
    async with trio.open_nursery() as nursery:
        for each in talks:
            nursery.start_soon(_some_turns, each, turns)
    count = turns * len(talks)
    return count / (perf_counter() - begin), (process_time() - spent) / count * 1000


async def _some_turns(talk: Conversation, turns: int) -> None:
    for _ in range(turns):
        await talk.turn(Script())
