"""A server under test on a real socket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio

from adapters.http.server import HttpServer
from hermes_actors.journal import Journal
from hermes_actors.runtime import Ended, Life, Mailbox


class Running:
    """A server under test: its port, its life, and how it ended."""

    def __init__(self, life: Life[object]) -> None:
        self.life = life
        self.port = 0
        self.ended: Ended | None = None
        self.over = trio.Event()

    async def run(self) -> None:
        self.ended = await self.life.run()
        self.over.set()

    async def get(self, path: str, *headers: str, method: str = "GET") -> tuple[int, Any]:
        lines = [f"{method} {path} HTTP/1.1", "Host: here", "Connection: close", *headers, "", ""]
        return _parsed(await self.raw("\r\n".join(lines).encode()))

    async def until_it_refuses(self) -> None:
        try:
            while True:
                await (await trio.open_tcp_stream("127.0.0.1", self.port)).aclose()
        except OSError:
            return

    async def raw(self, request: bytes) -> bytes:
        stream = await trio.open_tcp_stream("127.0.0.1", self.port)
        async with stream:
            await stream.send_all(request)
            return b"".join([chunk async for chunk in stream])


def _parsed(answer: bytes) -> tuple[int, Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@asynccontextmanager
async def serving(
    app: Callable[..., Any], *, stall: float = 20.0, finish: float = 10.0
) -> AsyncIterator[Running]:
    up = trio.Event()

    def is_up(url: str) -> None:
        running.port = int(url.rpartition(":")[2])
        up.set()

    server = HttpServer(app, host="127.0.0.1", port=0, stall=stall, finish_within=finish, up=is_up)
    running = Running(Life(server, Mailbox("api_server"), Journal()))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.run)
        with trio.fail_after(10):
            await up.wait()
        yield running
        running.life.stop("end of test")
