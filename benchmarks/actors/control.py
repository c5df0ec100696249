"""Control, sent when ten thousand messages are already waiting."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import perf_counter

import msgspec
import trio
import trio.testing

from benchmarks.actors.living import living
from benchmarks.result import Result, at_most
from benchmarks.rounds import Size, typical
from benchmarks.table import number
from hermes_actors.runtime import Actor, Ref


class Heard(msgspec.Struct, frozen=True):
    """When a control message took effect: after how many others, and after how many seconds."""

    after_messages: int
    after_seconds: float


class Busy(Actor[str]):
    """Has something in hand for ever, and then counts."""

    def __init__(self) -> None:
        self.handled = 0
        self.handled_at_signal = -1
        self.freed: trio.Event = trio.Event()

    async def receive(self, message: str) -> None:
        """The first message is endless work; it ends when it is cut."""
        if message == "endless":
            try:
                await trio.sleep_forever()
            finally:
                self.freed.set()
        self.handled += 1

    def on_signal(self, message: object) -> None:
        """Note how much work was done before this was heard."""
        self.handled_at_signal = self.handled


def measure(size: Size) -> Iterator[Result]:
    """Messages that a signal had to wait for, and the time until the work in hand was cut."""
    waiting = size.of(10_000)
    first = trio.run(_control, waiting)
    yield Result(
        name=f"messages ahead of control, {number(waiting)} queued",
        value=first.after_messages,
        unit="",
        target=at_most(0),
        beside="counted in the control handler itself",
    )
    seconds = typical(lambda: trio.run(partial(_control, waiting)).after_seconds, size.rounds)
    yield Result(
        name=f"interrupt to work gone, {number(waiting)} queued",
        value=1000 * seconds,
        unit="ms",
        target=at_most(100),
        beside="from the call to the end of the work in hand (wall-clock time)",
    )


async def _control(waiting: int) -> Heard:
    busy = Busy()
    async with living(busy, capacity=waiting) as ref:
        ref.tell("endless")
        await trio.testing.wait_all_tasks_blocked()
        _fill(ref, waiting)
        ref.signal("now")
        begin = perf_counter()
        ref.interrupt("measured")
        await busy.freed.wait()
        return Heard(busy.handled_at_signal, perf_counter() - begin)


def _fill(ref: Ref[str], count: int) -> None:
    for _ in range(count):
        ref.tell("work")
