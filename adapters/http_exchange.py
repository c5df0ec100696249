"""One HTTP/1.1 connection and the one exchange that is on it.

h11 knows the protocol, a Trio stream carries the bytes, and this file moves them between the two.
Its promise is about the end: closing is a plain `def` that takes effect at once, so it works in a
`finally`, needs no shield, and the other side sees it in the same moment. Whoever is cancelled in
any `await` here leaves a connection behind that is closed, never one that is half used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import h11
import httpx  # noqa: ASYNC127  see http_client.py
import trio

_READ = 64 * 1024
_LONGEST_HEAD = 256 * 1024


class Connection:
    """A stream that speaks HTTP/1.1, for one request at a time."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.closed = False
        self.idle_since = 0.0
        self._read_to_end = False
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LONGEST_HEAD)

    async def ask(self, request: httpx.Request, target: bytes) -> h11.Response:
        """Send a request and wait for the head of its answer; closed if that does not come."""
        try:
            await self._send(request, target)
            while isinstance(head := await self._event(), h11.InformationalResponse):
                pass
        except BaseException:
            self.close()
            raise
        if not isinstance(head, h11.Response):
            self._broken(f"{type(head).__name__} in place of an answer")
        return head

    async def read(self) -> bytes:
        """All bytes of the answer that are here, after waiting for some; empty at its end."""
        if self._read_to_end:
            return b""
        try:
            event: h11.Event | None = await self._event()
        except BaseException:
            self.close()
            raise
        pieces = []
        while isinstance(event, h11.Data):
            pieces.append(event.data)
            event = self._at_hand()
        self._read_to_end = isinstance(event, h11.EndOfMessage)
        return b"".join(pieces)

    def next_cycle(self) -> bool:
        """Get ready for another request; False, and closed, when this connection cannot."""
        if self.closed or not (self._h11.our_state is h11.DONE is self._h11.their_state):
            self.close()
            return False
        self._h11.start_next_cycle()
        self._read_to_end = False
        return True

    @property
    def stale(self) -> bool:
        """True when the other side has hung up, or talks without having been asked."""
        socket = _socket_of(self.stream)
        return self.closed or (socket is not None and socket.is_readable())

    def close(self) -> None:
        """Hang up now. Never waits, never fails, may be called again."""
        if not self.closed:
            self.closed = True
            hang_up(self.stream)

    async def _send(self, request: httpx.Request, target: bytes) -> None:
        method, body = request.method.encode("ascii"), request.content
        try:
            head = self._h11.send(
                h11.Request(method=method, target=target, headers=request.headers.raw)
            )
            data = self._h11.send(h11.Data(data=body)) if body else b""
            end = self._h11.send(h11.EndOfMessage())
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        try:
            await self.stream.send_all(b"".join(part for part in (head, data, end) if part))
        except trio.BrokenResourceError:
            # The other side may have answered before it had read all, and then hung up. If it
            # has not, reading will tell.
            self._h11.send_failed()

    async def _event(self) -> h11.Event:
        while True:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                raise httpx.RemoteProtocolError(str(error)) from error
            if event is h11.NEED_DATA:
                self._h11.receive_data(await self._receive())
            elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
                self._broken("the server hung up without an answer")
            else:
                assert isinstance(event, h11.Event)
                return event

    def _at_hand(self) -> h11.Event | None:
        """The next event, if its bytes have come already."""
        try:
            event = self._h11.next_event()
        except h11.RemoteProtocolError:
            return None  # what came before it counts; h11 says it again when asked again
        return event if isinstance(event, h11.Event) else None

    async def _receive(self) -> bytes:
        try:
            data = await self.stream.receive_some(_READ)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise httpx.ReadError("the connection broke") from error
        if not data and self._h11.their_state is h11.SEND_RESPONSE:
            self._broken("the server hung up without an answer")
        return bytes(data)

    def _broken(self, why: str) -> NoReturn:
        self.close()
        raise httpx.RemoteProtocolError(why)


class Exchange:
    """An answer of which the head is known: `read` until it gives nothing, then `close`.

    `close` hands the connection back when the answer was read to its end, and hangs up when it
    was not. It is not optional: use `try … finally`.
    """

    def __init__(
        self, connection: Connection, head: h11.Response, give_back: Callable[[Connection], None]
    ) -> None:
        self.status = head.status_code
        self.headers = httpx.Headers(head.headers.raw_items())
        self.connection = connection
        self._give_back: Callable[[Connection], None] | None = give_back

    async def read(self) -> bytes:
        """The next bytes of the body as they came; empty at the end."""
        return await self.connection.read()

    def close(self) -> None:
        """Done with it, read or unread. Never waits; may be called again."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None:
            give_back(self.connection)


def hang_up(stream: trio.abc.Stream) -> None:
    """Close a stream in this very step. A stream of another kind brings its own plain `close`."""
    socket = _socket_of(stream)
    if socket is not None:
        socket.close()
    else:
        stream.close()  # type: ignore[attr-defined]


def _socket_of(stream: trio.abc.Stream) -> trio.socket.SocketType | None:
    while isinstance(stream, trio.SSLStream):
        stream = stream.transport_stream
    return stream.socket if isinstance(stream, trio.SocketStream) else None
