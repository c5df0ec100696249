"""Questions and answers, beside pykka, whose actors are threads, and beside Trio's own floor.

A round trip between two tasks is two turns of Trio's scheduler; no actor on Trio can be faster.
What pykka reaches depends on the operating system: with both threads on one core it is more than
twice as fast as with one on each, and where they are put depends on what else runs.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter, process_time
from typing import Any

import msgspec
import pykka
import trio
import trio.testing

from benchmarks.actors.living import living
from benchmarks.result import Result, Target, at_least
from benchmarks.rounds import Size, in_turns
from benchmarks.table import number
from hermes_actors.runtime import Actor, Ref

CROWD = 100
Core = int | None


class Echo(Actor[int]):
    """Answers with the question."""

    async def receive(self, message: int) -> int:
        """Echo."""
        return message


class PykkaEcho(pykka.ThreadingActor):
    """The same as a pykka actor."""

    def __init__(self, core: Core) -> None:
        super().__init__()
        self._core = core

    def on_start(self) -> None:
        """Settle down, in the actor's own thread."""
        _settle(self._core)

    def on_receive(self, message: Any) -> Any:
        """Echo."""
        return message


def measure(size: Size) -> Iterator[Result]:
    """Round trips per second of wall-clock time, as the system places threads, and as we do."""
    yield _compare(size, Rival(), "ask, of pykka's rate", at_least(5))
    yield _compare(size, Rival(askers=CROWD), f"ask, of pykka's rate, {CROWD} askers")
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) > 1:
        one, two = cores[:2]
        yield _compare(size, Rival(cores=(one, two)), "ask, of pykka's rate on two cores")
        yield _compare(size, Rival(cores=(one, one)), "ask, of pykka's rate on one core")
    yield _beside_bare_tasks(size)


class Rival(msgspec.Struct, frozen=True):
    """How pykka is asked: by how many threads, and on which cores asker and actor run."""

    askers: int = 1
    cores: tuple[Core, Core] = (None, None)


def _compare(size: Size, rival: Rival, name: str, target: Target | None = None) -> Result:
    each = size.of(20_000 // rival.askers)
    pair = in_turns(
        partial(trio.run, _ours, rival.askers, each), partial(_pykka, rival, each), size.rounds
    )
    return Result(
        name=name,
        value=pair.ratio,
        unit="x",
        target=target,
        beside=f"{number(pair.ours)}/s; pykka {number(pair.theirs)}/s (wall-clock time)",
    )


def _beside_bare_tasks(size: Size) -> Result:
    times = size.of(20_000)
    pair = in_turns(
        partial(trio.run, _ours, 1, times, process_time),
        partial(trio.run, _bare, times),
        size.rounds,
    )
    return Result(
        name="ask, of two bare tasks' rate",
        value=100 * pair.ratio,
        unit="%",
        beside=f"{number(pair.ours)}/s; two trio tasks that wake each other "
        f"{number(pair.theirs)}/s (CPU time)",
    )


async def _ours(askers: int, each: int, clock: Callable[[], float] = perf_counter) -> float:
    async with living(Echo()) as ref:
        begin = clock()
        async with trio.open_nursery() as nursery:
            for _ in range(askers):
                nursery.start_soon(_ask, ref, each)
        return askers * each / (clock() - begin)


async def _ask(ref: Ref[int], times: int) -> None:
    for question in range(times):
        await ref.ask(question)


def _pykka(rival: Rival, each: int) -> float:
    asker, actor = rival.cores
    ref = PykkaEcho.start(actor)
    work = partial(_ask_pykka, ref, each, asker)
    threads = [threading.Thread(target=work) for _ in range(rival.askers)]
    begin = perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = rival.askers * each / (perf_counter() - begin)
    ref.stop()
    return rate


def _ask_pykka(ref: pykka.ActorRef[PykkaEcho], times: int, core: Core) -> None:
    _settle(core)
    for question in range(times):
        ref.ask(question)


def _settle(core: Core) -> None:
    if core is not None:
        os.sched_setaffinity(0, {core})  # of the calling thread alone


async def _bare(times: int) -> float:
    parked: list[trio.lowlevel.Task] = []

    async def wait() -> None:
        parked.append(trio.lowlevel.current_task())
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.SUCCEEDED)

    async def answer() -> None:
        while True:
            await wait()
            trio.lowlevel.reschedule(parked.pop(0))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        await trio.testing.wait_all_tasks_blocked()
        begin = process_time()
        for _ in range(times):
            trio.lowlevel.reschedule(parked.pop(0))
            await wait()
        seconds = process_time() - begin
        nursery.cancel_scope.cancel("measured")
    return times / seconds
