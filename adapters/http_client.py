"""The one place that builds HTTP clients.

httpx keeps its connections in a pool, and on Trio that pool has two faults that this product
would meet daily. A request that is cancelled while it waits for a place in the pool can take the
place with it for good; and every request walks over all connections that are open, so a thousand
open streams make each new one slow. So there is no pool here: a `Lanes` lends each exchange a
connection of its own, from a stack of idle ones or newly dialled, and a limiter in front says how
many there may be. Nothing waits inside, so there is nothing that a cancellation can tear.

CPU of one short streamed request (22 pieces, one core of a small machine) beside N open streams:

    N open streams                           0        32       200      1000
    httpx, one client                  0.82 ms   0.85 ms   1.23 ms   3.13 ms
    httpx, 64 clients in turn          0.96      0.98      1.08      1.06
    httpx, a transport for each call   1.21      1.31      1.31      1.36
    httpx client over `Lanes`          0.53      0.54      0.51      0.53
    `Lanes.exchange`                   0.36      0.36      0.36      0.36
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import httpx  # noqa: ASYNC127  chosen on purpose; its pool is not used
import trio

from adapters.http_dial import Dial, dialer, port_of
from adapters.http_exchange import Connection, Exchange

# httpx writes the address of every request to the log, and some addresses hold a token.
logging.getLogger("httpx").setLevel(logging.WARNING)

AT_ONCE = 4096
_MOST_IDLE = 64
_LONGEST_IDLE = 30.0

Lane = tuple[str, bytes, int, str]


class Lanes(httpx.AsyncBaseTransport):
    """Connections without a pool: for model streams as they are, for anybody else under httpx."""

    def __init__(self, *, at_once: int = AT_ONCE, dial: Dial | None = None) -> None:
        self.limiter = trio.CapacityLimiter(at_once)
        self._dial = dial or dialer()
        self._idle: dict[Lane, list[Connection]] = {}
        self._resting = 0

    async def exchange(
        self, request: httpx.Request, on_connected: Callable[[], None] | None = None
    ) -> Exchange:
        """Send `request` and wait for the head of the answer. Whoever gets it closes it.

        `on_connected` is called when a connection is there, so that a caller can give dialling
        and answering a deadline each. Raises `httpx.TransportError`.
        """
        ticket = object()
        await trio.lowlevel.checkpoint_if_cancelled()
        try:
            # Where there is room, nobody has to wait: asking below lets others run soon enough.
            self.limiter.acquire_on_behalf_of_nowait(ticket)
        except trio.WouldBlock:
            await self.limiter.acquire_on_behalf_of(ticket)
        try:
            lane = _lane_of(request)
            connection = self._rested(lane) or Connection(await self._dial(request.url, lane[3]))
            if on_connected is not None:
                on_connected()
            head = await connection.ask(request, request.url.raw_path)
        except BaseException:
            self.limiter.release_on_behalf_of(ticket)
            raise

        def give_back(connection: Connection) -> None:
            self.limiter.release_on_behalf_of(ticket)
            self._rest(lane, connection)

        return Exchange(connection, head, give_back)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The same for an `httpx.AsyncClient`."""
        await request.aread()
        exchange = await self.exchange(request)
        return httpx.Response(exchange.status, headers=exchange.headers, stream=_Body(exchange))

    def _rested(self, lane: Lane) -> Connection | None:
        waiting = self._idle.get(lane, [])
        while waiting:
            connection = waiting.pop()
            self._resting -= 1
            if trio.current_time() - connection.idle_since < _LONGEST_IDLE and not connection.stale:
                return connection
            connection.close()
        self._idle.pop(lane, None)
        return None

    def _rest(self, lane: Lane, connection: Connection) -> None:
        if not connection.next_cycle():
            return
        if self._resting >= _MOST_IDLE:
            self._dismiss_oldest()
        connection.idle_since = trio.current_time()
        self._idle.setdefault(lane, []).append(connection)
        self._resting += 1

    def _dismiss_oldest(self) -> None:
        lane = min(self._idle, key=lambda lane: self._idle[lane][0].idle_since)
        self._idle[lane].pop(0).close()
        self._resting -= 1
        if not self._idle[lane]:
            del self._idle[lane]

    async def aclose(self) -> None:  # noqa: ASYNC124  httpx awaits it; closing takes no time
        """Hang up on everybody that nobody uses. Exchanges under way are their owners' to close."""
        for waiting in self._idle.values():
            for connection in waiting:
                connection.close()
        self._idle.clear()
        self._resting = 0


def http_client(
    *,
    base_url: str = "",
    headers: Mapping[str, str] | None = None,
    at_once: int = AT_ONCE,
    dial: Dial | None = None,
) -> httpx.AsyncClient:
    """A client for one outside party. Deadlines are the caller's: `with trio.fail_after(…)`.

    It sets no time limit, follows no redirect and remembers no cookie. Each client has its own
    limiter, so a slow party uses up nobody else's share. Close it with `aclose`. Who reads only
    a part of a streamed answer wraps the iterator in `contextlib.aclosing`, as Trio wants it.
    """
    return httpx.AsyncClient(
        transport=Lanes(at_once=at_once, dial=dial),
        base_url=base_url,
        headers=headers,
        timeout=httpx.Timeout(None),
        limits=httpx.Limits(max_connections=None),
        follow_redirects=False,
        trust_env=False,
    )


class _Body(httpx.AsyncByteStream):
    """The rest of an exchange as httpx wants to read it."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def __aiter__(self) -> _Body:
        return self

    async def __anext__(self) -> bytes:
        data = await self._exchange.read()
        if not data:
            raise StopAsyncIteration
        return data

    async def aclose(self) -> None:  # noqa: ASYNC124  httpx awaits it; closing takes no time
        self._exchange.close()


def _lane_of(request: httpx.Request) -> Lane:
    url = request.url
    name = request.extensions.get("sni_hostname") or url.raw_host.decode("ascii")
    return url.scheme, url.raw_host, port_of(url), str(name)
