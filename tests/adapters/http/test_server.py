"""The HTTP server on a real socket, spoken to byte by byte."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from adapters.http.app import make_app
from adapters.http.listener import AddressTaken, listen, url_of
from adapters.http.server import HttpServer
from hermes_actors.journal import Journal
from hermes_actors.runtime import Ended, How, Life, Mailbox, Node

UPGRADE = b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nx"
LENGTH = [(b"content-length", b"6")]
KEY = "a-key-of-some-length"


class Facts:
    status = "ok"

    def health(self) -> dict[str, Any]:
        return {"status": self.status, "version": "1"}

    def tree(self) -> Node:
        return Node(name="gateway", kind="double", state="running")


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


def _only_http(scope: Any) -> None:
    if scope["type"] != "http":
        raise NotImplementedError("this application has no start-up to wait for")


def _parsed(answer: bytes) -> tuple[int, Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@asynccontextmanager
async def serving(app: Callable[..., Any]) -> AsyncIterator[Running]:
    up = trio.Event()

    def is_up(url: str) -> None:
        running.port = int(url.rpartition(":")[2])
        up.set()

    server = HttpServer(app, host="127.0.0.1", port=0, up=is_up)
    running = Running(Life(server, Mailbox("api_server"), Journal()))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.run)
        with trio.fail_after(10):
            await up.wait()
        yield running
        running.life.stop("end of test")


async def test_health_is_open_to_all_and_says_503_unless_all_is_well() -> None:
    facts = Facts()
    async with serving(make_app(facts, KEY)) as server:
        assert await server.get("/health") == (200, {"status": "ok", "version": "1"})
        facts.status = "stopping"
        assert await server.get("/health") == (503, {"status": "stopping", "version": "1"})


async def test_the_tree_needs_the_key() -> None:
    async with serving(make_app(Facts(), KEY)) as server:
        status, refused = await server.get("/api/tree")
        assert (status, refused["error"]["code"]) == (401, "invalid_api_key")
        status, _ = await server.get("/api/tree", "Authorization: Bearer wrong")
        assert status == 401
        status, tree = await server.get("/api/tree", f"Authorization: Bearer {KEY}")
        assert (status, tree["name"]) == (200, "gateway")


async def test_what_is_not_there_is_refused_in_json() -> None:
    async with serving(make_app(Facts(), KEY)) as server:
        status, refused = await server.get("/nothing")
        assert (status, refused["error"]["code"]) == (404, "not_found")
        status, refused = await server.get("/health", method="DELETE")
        assert (status, refused["error"]["code"]) == (405, "method_not_allowed")


async def test_nonsense_on_the_wire_does_not_end_the_server() -> None:
    async with serving(make_app(Facts(), KEY)) as server:
        # The last one has ended other servers as a whole: a byte after a request to upgrade.
        for nonsense in (b"\x00\xff\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"G" * 100_000, UPGRADE):
            stream = await trio.open_tcp_stream("127.0.0.1", server.port)
            await stream.send_all(nonsense)
            await stream.aclose()
        assert (await server.get("/health"))[0] == 200


async def test_a_drain_lets_the_open_request_finish_and_takes_no_new_one() -> None:
    entered, release = trio.Event(), trio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        _only_http(scope)
        entered.set()
        await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": LENGTH})
        await send({"type": "http.response.body", "body": b'"done"'})

    async with serving(app) as server, trio.open_nursery() as nursery:
        answers: list[tuple[int, Any]] = []

        async def ask() -> None:
            answers.append(await server.get("/"))

        nursery.start_soon(ask)
        await entered.wait()
        server.life.drain("closing")
        await server.until_it_refuses()
        release.set()
        await server.over.wait()
        assert server.ended is not None
        assert server.ended.how is How.DRAINED
    assert answers == [(200, "done")]


async def test_a_stop_cuts_the_open_request_at_once() -> None:
    entered, cut = trio.Event(), trio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        _only_http(scope)
        entered.set()
        try:
            await trio.sleep_forever()
        finally:
            cut.set()

    async with serving(app) as server, trio.open_nursery() as nursery:
        stream = await trio.open_tcp_stream("127.0.0.1", server.port)
        await stream.send_all(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        await entered.wait()
        server.life.stop("now")
        await server.over.wait()
        await cut.wait()
        await stream.aclose()
        nursery.cancel_scope.cancel()
    assert server.ended is not None
    assert server.ended.how is How.STOPPED


def test_a_taken_port_is_told_with_the_key_to_change() -> None:
    with listen("127.0.0.1", 0, "adapters.x") as first:
        assert url_of(first) == f"http://127.0.0.1:{first.getsockname()[1]}"
        with pytest.raises(AddressTaken, match=r"adapters\.x\.port: .* is in use") as refused:
            listen("127.0.0.1", first.getsockname()[1], "adapters.x")
    assert refused.value.exit_code == 75


def test_a_host_that_does_not_exist_is_told_with_its_key() -> None:
    with pytest.raises(AddressTaken, match=r"adapters\.x\.host: 'no\.such\.host\.invalid'"):
        listen("no.such.host.invalid", 0, "adapters.x")
