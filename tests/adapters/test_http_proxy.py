"""The way through a proxy."""

from __future__ import annotations

from pathlib import Path

import httpx  # noqa: ASYNC127  what is under test
import pytest
import trio

from adapters.http_dial import secured
from adapters.http_proxy import proxy_for, tunnelled
from tests.adapters.certificates import server_tls, trusting_tls
from tests.adapters.raw_server import RawServer, Visit, plain


@pytest.mark.parametrize(
    ("environment", "host", "proxy"),
    [
        ({}, "api.openai.com", None),
        ({"https": "http://gate:3128"}, "api.openai.com", "http://gate:3128"),
        ({"https": "gate:3128"}, "api.openai.com", "http://gate:3128"),
        ({"all": "http://gate"}, "api.openai.com", "http://gate"),
        ({"http": "http://gate"}, "api.openai.com", None),
        ({"https": "http://gate", "no": "localhost,.corp"}, "models.corp", None),
        ({"https": "http://gate", "no": "localhost,.corp"}, "localhost", None),
        ({"https": "http://gate", "no": "*"}, "api.openai.com", None),
    ],
)
def test_the_environment_names_the_proxy_and_who_goes_round_it(
    environment: dict[str, str], host: str, proxy: str | None
) -> None:
    found = proxy_for(host, environment)
    assert (None if found is None else str(found)) == proxy


class Proxy:
    """Opens a tunnel for everybody, and remembers how it was asked."""

    def __init__(self, answer: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n") -> None:
        self.answer, self.asked = answer, b""
        self.port = 0

    async def serve(self, *, task_status: trio.TaskStatus[None]) -> None:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
        self.port = listeners[0].socket.getsockname()[1]
        task_status.started()
        await trio.serve_listeners(self._tunnel, listeners)

    @property
    def url(self) -> httpx.URL:
        return httpx.URL(f"http://user:pass%20word@127.0.0.1:{self.port}")

    async def _tunnel(self, near: trio.SocketStream) -> None:
        self.asked = await near.receive_some(4096)
        await near.send_all(self.answer)
        if b"200" not in self.answer:
            return
        host, _, port = self.asked.split(b" ")[1].decode().rpartition(":")
        far = await trio.open_tcp_stream(host, int(port))
        async with far, trio.open_nursery() as both:
            both.start_soon(_pump, near, far)
            both.start_soon(_pump, far, near)

    async def started(self, nursery: trio.Nursery) -> Proxy:
        await nursery.start(self.serve)
        return self


async def _pump(source: trio.SocketStream, sink: trio.SocketStream) -> None:
    try:
        async for data in source:
            await sink.send_all(data)
        await sink.send_eof()
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        pass


async def test_a_tunnel_carries_tls_to_the_server_behind_it(
    nursery: trio.Nursery, tmp_path: Path
) -> None:
    async def greet(visit: Visit) -> None:
        await visit.send(plain(200, b"hello"))

    server, proxy = RawServer(greet), await Proxy().started(nursery)
    await nursery.start(server.serve, server_tls(tmp_path))
    stream = await tunnelled(proxy.url, "localhost", server.port)
    secure = await secured(stream, "localhost", trusting_tls())
    assert isinstance(secure, trio.SSLStream)
    await secure.send_all(b"GET / HTTP/1.1\r\n\r\n")
    assert (await secure.receive_some(4096)).endswith(b"hello")
    assert proxy.asked.startswith(b"CONNECT localhost:%d HTTP/1.1\r\n" % server.port)
    assert b"Proxy-Authorization: Basic dXNlcjpwYXNzIHdvcmQ=\r\n" in proxy.asked
    stream.socket.close()


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 407 Who are you?\r\n\r\n", b"HTTP/1.1 403 No\r\n\r\n", b"noise"]
)
async def test_a_proxy_that_does_not_want_to_is_told_apart(
    answer: bytes, nursery: trio.Nursery
) -> None:
    proxy = await Proxy(answer).started(nursery)
    with pytest.raises(httpx.ProxyError, match="the proxy") as failed:
        await tunnelled(proxy.url, "localhost", 443)
    assert "pass" not in str(failed.value)


async def test_a_proxy_that_is_not_there_or_of_another_kind_is_told_apart() -> None:
    with pytest.raises(httpx.ProxyError, match="cannot be reached"):
        await tunnelled(httpx.URL("http://127.0.0.1:1"), "localhost", 443)
    with pytest.raises(httpx.ProxyError, match="'socks5://' is not"):
        await tunnelled(httpx.URL("socks5://127.0.0.1:1"), "localhost", 443)


async def test_a_cancelled_wait_for_the_proxy_leaves_no_socket(nursery: trio.Nursery) -> None:
    hung_up = trio.Event()

    async def say_nothing(stream: trio.SocketStream) -> None:
        while await stream.receive_some(4096):
            pass
        hung_up.set()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    nursery.start_soon(trio.serve_listeners, say_nothing, listeners)
    port = listeners[0].socket.getsockname()[1]
    with trio.move_on_after(0.1):
        await tunnelled(httpx.URL(f"http://127.0.0.1:{port}"), "localhost", 443)
    with trio.fail_after(5):
        await hung_up.wait()
