"""How much an actor costs on top of what it is made of: a task that reads from a queue."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import process_time

import trio

from benchmarks.actors.living import living
from benchmarks.result import Result, at_least
from benchmarks.rounds import Size, in_turns
from benchmarks.table import number
from hermes_actors.runtime import Actor

ROOM = 64


class Counter(Actor[int]):
    """Counts what it is told, and says when that was the last."""

    def __init__(self, expected: int) -> None:
        self.left = expected
        self.done = trio.Event()

    async def receive(self, message: int) -> None:
        """Count."""
        self.left -= 1
        if self.left == 0:
            self.done.set()


def measure(size: Size) -> Iterator[Result]:
    """Messages per second of CPU time, one sender to one receiver, both paths in one thread."""
    count = size.of(60_000)
    pair = in_turns(partial(trio.run, _told, count), partial(trio.run, _sent, count), size.rounds)
    yield Result(
        name="tell, of a bare channel's rate",
        value=100 * pair.ratio,
        unit="%",
        target=at_least(60),
        beside=f"{number(pair.ours)}/s; two trio tasks over a memory channel "
        f"{number(pair.theirs)}/s (CPU time)",
    )


async def _told(count: int) -> float:
    counter = Counter(count)
    async with living(counter, ROOM) as ref:
        begin = process_time()
        for message in range(count):
            ref.tell(message)
            # What `send` does for a channel's sender: let others run, hear of cancellation.
            await trio.lowlevel.checkpoint()
        await counter.done.wait()
        return count / (process_time() - begin)


async def _sent(count: int) -> float:
    sender, receiver = trio.open_memory_channel[int](ROOM)
    begin = process_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_send_all, sender, count)
        async for _ in receiver:
            pass
    return count / (process_time() - begin)


async def _send_all(sender: trio.MemorySendChannel[int], count: int) -> None:
    with sender:
        for message in range(count):
            await sender.send(message)
