"""A server that is as bad as a test wants it to be: raw bytes over real sockets.

A test hands in a behaviour, an async function of one `Visit`. The server reads a request, calls it,
and does so again while the behaviour returns; when it is over, or the client has hung up, it
closes. What a client did can be read afterwards, and `visit.hung_up()` waits for the moment.
"""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from functools import partial

import trio

Behaviour = Callable[["Visit"], Awaitable[None]]


class Gone(Exception):
    """The client has hung up, or the behaviour wants to."""


class Visit:
    """One connection of a client."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._buffer = b""
        self.head, self.body = b"", b""
        self.over = trio.Event()

    async def next_request(self) -> None:
        """Wait for a whole request."""
        while b"\r\n\r\n" not in self._buffer:
            await self._more()
        self.head, _, rest = self._buffer.partition(b"\r\n\r\n")
        size = int(self.header("content-length") or 0)
        self._buffer = rest
        while len(self._buffer) < size:
            await self._more()
        self.body, self._buffer = self._buffer[:size], self._buffer[size:]

    def header(self, name: str) -> str | None:
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.strip().lower() == name.encode():
                return value.strip().decode()
        return None

    async def send(self, data: bytes) -> None:
        await self._stream.send_all(data)

    async def hung_up(self) -> None:
        """Wait until the client has closed; anything it still says is dropped."""
        try:
            while await self._stream.receive_some(65536):
                pass
        except trio.BrokenResourceError:
            pass
        raise Gone

    def reset(self) -> None:
        """End with a TCP reset instead of a goodbye."""
        stream = self._stream
        while isinstance(stream, trio.SSLStream):
            stream = stream.transport_stream
        assert isinstance(stream, trio.SocketStream)
        linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
        stream.socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, linger)
        raise Gone

    async def _more(self) -> None:
        data = await self._stream.receive_some(65536)
        if not data:
            raise Gone
        self._buffer += data


class RawServer:
    """Serves `behaviour` on a free port of the loopback address."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.visits: list[Visit] = []
        self.requests: list[bytes] = []
        self._news = trio.Event()
        self.open = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(
        self,
        tls: ssl.SSLContext | None = None,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=2048)
        self.port = listeners[0].socket.getsockname()[1]
        task_status.started()
        await trio.serve_listeners(partial(self._visit, tls), listeners)

    async def asked(self, times: int = 1) -> None:
        """Wait until so many requests have come."""
        while len(self.requests) < times:
            await self._news.wait()

    async def all_gone(self) -> None:
        """Wait until no client is connected any more."""
        for visit in list(self.visits):
            await visit.over.wait()

    async def _visit(self, tls: ssl.SSLContext | None, stream: trio.SocketStream) -> None:
        secure = (
            trio.SSLStream(stream, tls, server_side=True, https_compatible=True) if tls else None
        )
        visit = Visit(secure or stream)
        self.visits.append(visit)
        self.open += 1
        try:
            while True:
                await visit.next_request()
                self.requests.append(visit.body)
                self._news.set()
                self._news = trio.Event()
                await self.behaviour(visit)
        except (Gone, trio.BrokenResourceError, trio.ClosedResourceError):
            pass
        finally:
            self.open -= 1
            visit.over.set()
            stream.socket.close()


def chunk(data: bytes) -> bytes:
    """One piece of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


SSE_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
END = b"0\r\n\r\n"


def plain(status: int, body: bytes, *headers: bytes, kind: bytes = b"application/json") -> bytes:
    """A whole answer with a length."""
    lines = (b"HTTP/1.1 %d Whatever" % status, b"content-type: " + kind, *headers)
    return b"\r\n".join((*lines, b"content-length: %d" % len(body), b"", body))
