"""Ten thousand actors that have nothing to do: their memory, their birth, and their absence.

Each is what a session is: known to a registry, kept by a supervisor, with a mailbox and a task,
and it has handled one message. The memory is the growth of the resident set of a fresh process,
which counts everything: what Python allocates, what Trio adds, and what malloc rounds up.
"""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from statistics import median
from time import process_time
from typing import Any

import psutil  # type: ignore[import-untyped]  # it has no types of its own
import trio
import trio.testing

from benchmarks.child import figures, tell
from benchmarks.result import Result, at_most
from benchmarks.rounds import Size
from benchmarks.table import number
from hermes_actors.runtime import Actor, Registry, System
from supervisors.crowd import CrowdSupervisor
from supervisors.spec import Crowd, Door

WARM_UP = 200


class Idler(Actor[str]):
    """Does nothing."""

    async def receive(self, message: str) -> None:
        """Nothing."""


def measure(size: Size) -> Iterator[Result]:
    """The median of three processes, one after the other."""
    count = size.of(10_000)
    times = range(min(size.rounds, 3))
    actors = [figures(weigh_actors, count) for _ in times]
    tasks = [figures(weigh_tasks, count) for _ in times]

    yield Result(
        name="memory of an idle actor",
        value=_middle(actors, "bytes_each") / 1024,
        unit="KiB",
        target=at_most(8),
        beside=f"{number(count)} supervised actors in a fresh process (resident memory); "
        f"a bare waiting task {number(_middle(tasks, 'bytes_each') / 1024)} KiB",
    )
    yield Result(
        name=f"spawn {number(count)} actors",
        value=_middle(actors, "spawn_seconds"),
        unit="s",
        target=at_most(2),
        beside=f"until all have handled a message (CPU time, one thread); "
        f"bare tasks {number(_middle(tasks, 'spawn_seconds'))} s",
    )
    yield Result(
        name=f"tasks kept by {number(count)} passivated actors",
        value=_middle(actors, "tasks_left"),
        unit="",
        target=at_most(0),
        beside=f"counted by Trio; all unloaded in {number(_middle(actors, 'unload_seconds'))} s",
    )


def _middle(runs: list[dict[str, Any]], name: str) -> float:
    return median(float(run[name]) for run in runs)


# In the child --------------------------------------------------------------------------------


def weigh_actors(count: str) -> None:
    """Measure in this process, which must be a fresh one, and tell the figures."""
    trio.run(_weigh_actors, int(count))


def weigh_tasks(count: str) -> None:
    """The same for tasks that only wait."""
    trio.run(_weigh_tasks, int(count))


async def _weigh_actors(count: int) -> None:
    async with registry() as known:
        await _wake(known, "warm", WARM_UP)
        tasks, before = _tasks(), _resident()
        begin = process_time()
        await _wake(known, "session", count)
        spawned, after = process_time() - begin, _resident()
        begin = process_time()
        known.unload_since(trio.current_time())
        await trio.testing.wait_all_tasks_blocked()
        unloaded = process_time() - begin
        left = _tasks() - (tasks - WARM_UP)
    tell(
        bytes_each=(after - before) / count,
        spawn_seconds=spawned,
        unload_seconds=unloaded,
        tasks_left=left,
    )


async def _weigh_tasks(count: int) -> None:
    async with trio.open_nursery() as nursery:
        before, begin = _resident(), process_time()
        for _ in range(count):
            nursery.start_soon(trio.sleep_forever)
        await trio.testing.wait_all_tasks_blocked()
        spawned, after = process_time() - begin, _resident()
        nursery.cancel_scope.cancel("measured")
    tell(bytes_each=(after - before) / count, spawn_seconds=spawned)


@asynccontextmanager
async def registry() -> AsyncIterator[Registry[str]]:
    """A registry with a supervisor behind it."""
    system, door = System(), Door("idlers")
    crowd = CrowdSupervisor(Crowd(name="idlers", door=door), system)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(crowd.run)
        await trio.testing.wait_all_tasks_blocked()
        yield Registry(lambda _: Idler(), door, system)
        crowd.stop("measured")


async def _wake(known: Registry[str], kind: str, count: int) -> None:
    for index in range(count):
        known.ref(f"{kind} {index}").tell("hello")
    await trio.testing.wait_all_tasks_blocked()


def _tasks() -> int:
    return trio.lowlevel.current_statistics().tasks_living


def _resident() -> int:
    gc.collect()
    resident: int = psutil.Process().memory_info().rss
    return resident
