"""The HTTP server on a real socket, spoken to byte by byte."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from adapters.http.listener import AddressTaken, listen, url_of
from hermes_actors.runtime import How
from tests.adapters.http.serving import serving

LENGTH = [(b"content-length", b"6")]


def _only_http(scope: Any) -> None:
    if scope["type"] != "http":
        raise NotImplementedError("this application has no start-up to wait for")


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
