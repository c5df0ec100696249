"""The fake model as the measuring process sees it: an address, and what it tells of requests."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import trio

from benchmarks.turns.script import Event

_PATIENCE = 60.0


class NotSeen(Exception):
    """The fake model has not seen in time what it should have seen."""


class FakeModel:
    """`opened` and `closed` hold the moments that the model has told, by tag."""

    def __init__(self, port: int) -> None:
        self.port, self.url = port, f"http://127.0.0.1:{port}/v1"
        self.opened: dict[str, float] = {}
        self.closed: dict[str, float] = {}
        self._news = trio.Event()

    def heard(self, event: Event) -> None:
        """Keep one event."""
        (self.opened if event.kind == "open" else self.closed)[event.tag] = event.at
        self._news.set()
        self._news = trio.Event()

    async def until_open(self, tags: set[str]) -> None:
        """Wait until each of these requests stands where its script leads."""
        await self._until(self.opened, tags)

    async def until_closed(self, tag: str, patience: float) -> float | None:
        """When the model saw its client hang up; None if it did not in time."""
        with trio.move_on_after(patience):
            await self._until(self.closed, {tag})
        return self.closed.get(tag)

    async def _until(self, seen: dict[str, float], tags: set[str]) -> None:
        with trio.move_on_after(_PATIENCE):
            while not tags <= seen.keys():
                await self._news.wait()
            return
        raise NotSeen(f"{len(tags - seen.keys())} of {len(tags)} requests never came")


@asynccontextmanager
async def fake_model() -> AsyncIterator[FakeModel]:
    """A model that lives as long as the block."""
    command = [sys.executable, "-m", "benchmarks.turns.fake_model"]
    process = await trio.lowlevel.open_process(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        async with trio.open_nursery() as nursery:
            lines = _Lines(process)
            model = FakeModel(int(await anext(lines)))
            nursery.start_soon(_listen, lines, model)
            yield model
            nursery.cancel_scope.cancel("measured")
    finally:
        process.kill()
        with trio.move_on_after(5, shield=True):
            await process.wait()


async def _listen(lines: _Lines, model: FakeModel) -> None:
    async for line in lines:
        model.heard(msgspec.json.decode(line, type=Event))


class _Lines:
    """What a process prints, line by line."""

    def __init__(self, process: trio.Process) -> None:
        assert process.stdout is not None
        self._stdout, self._whole, self._rest = process.stdout, deque[bytes](), b""

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> bytes:
        while not self._whole:
            data = await self._stdout.receive_some()
            if not data:
                raise StopAsyncIteration
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._whole.extend(whole)
        await trio.lowlevel.checkpoint()
        return self._whole.popleft()
