"""Work that has started a tree of tasks, cut by one call: how long until nothing of it runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import process_time

import trio
import trio.testing

from benchmarks.actors.living import living
from benchmarks.result import Result, at_most
from benchmarks.rounds import Size, typical
from benchmarks.table import number
from hermes_actors.errors import ActorGone
from hermes_actors.runtime import Actor, Ref

BRANCHES = 10


class Planter(Actor[int]):
    """Its work is a tree of tasks that wait for ever, so many levels deep."""

    async def receive(self, levels: int) -> None:
        """Grow the tree."""
        await _grow(levels)


def measure(size: Size) -> Iterator[Result]:
    """Milliseconds of CPU time from `interrupt` to the news of it, after the last task is gone."""
    levels = 3 if size.share >= 1 else 1
    ours = typical(partial(trio.run, _interrupted, levels), size.rounds)
    bare = typical(partial(trio.run, _cancelled, levels), size.rounds)
    yield Result(
        name=f"cut and join a tree of {number(BRANCHES**levels)} tasks",
        value=1000 * ours,
        unit="ms",
        target=at_most(100),
        beside=f"the same tree in a bare nursery {number(1000 * bare)} ms (CPU time)",
    )


async def _grow(levels: int) -> None:
    if levels == 0:
        await trio.sleep_forever()
    async with trio.open_nursery() as nursery:
        for _ in range(BRANCHES):
            nursery.start_soon(_grow, levels - 1)


async def _interrupted(levels: int) -> float:
    ended: list[float] = []
    async with living(Planter()) as ref, trio.open_nursery() as nursery:
        nursery.start_soon(_ask_until_cut, ref, levels, ended)
        await trio.testing.wait_all_tasks_blocked()
        begin = process_time()
        ref.interrupt("measured")
    return ended[0] - begin


async def _ask_until_cut(ref: Ref[int], levels: int, ended: list[float]) -> None:
    try:
        await ref.ask(levels)
    except ActorGone:
        ended.append(process_time())


async def _cancelled(levels: int) -> float:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_grow, levels)
        await trio.testing.wait_all_tasks_blocked()
        begin = process_time()
        nursery.cancel_scope.cancel("measured")
    return process_time() - begin
