"""A line to a server that exists only as a list of bytes and pauses: no sockets, virtual time."""

from __future__ import annotations

from collections.abc import Sequence

import httpx  # noqa: ASYNC127  the type that a dialler is given
import trio


class Line(trio.abc.Stream):
    """A stream that plays what it is given after the first thing it is told."""

    def __init__(self, script: Sequence[bytes | float]) -> None:
        self._script = list(script)
        self.told = b""
        self.closed = False

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        self.told += bytes(data)

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        while self._script:
            step = self._script.pop(0)
            if isinstance(step, bytes):
                # As sockets do: the bytes are taken after the wait, and no check comes between.
                await trio.lowlevel.cancel_shielded_checkpoint()
                return step
            await trio.sleep(step)
        await trio.sleep_forever()
        raise AssertionError

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.close()
        await trio.lowlevel.checkpoint()


class Exchange:
    """Dials a new line with the next script each time, and remembers all of them."""

    def __init__(self, *scripts: Sequence[bytes | float]) -> None:
        self._scripts = list(scripts)
        self.lines: list[Line] = []

    async def dial(self, url: httpx.URL, server_name: str) -> trio.abc.Stream:
        await trio.sleep(0.01)
        line = Line(self._scripts.pop(0))
        self.lines.append(line)
        return line
