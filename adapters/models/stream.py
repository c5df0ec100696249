"""The shell that every provider shares: send a request, read events, keep the deadlines.

What is sent and what the events mean is a provider's `wire.py`, which is pure. Here is the waiting:
one cancel scope whose deadline moves on with every sign of life. Bytes alone are no sign of life, a
complete line is: a server that drips one byte a second is as dead as one that says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import httpx  # noqa: ASYNC127  see http_client.py
import msgspec
import trio

from adapters.http_client import Lanes
from adapters.http_exchange import Exchange
from adapters.models.sse import SseEvent, SseParser, TooLong
from adapters.models.trouble import Interpreter, told
from hermes_actors.config.values import spell
from hermes_actors.values import Delta, ModelReply, ModelRequest, Reached

_MOST_OF_AN_ERROR = 64 * 1024
_LONGEST_GOODBYE = 0.1

OnDelta = Callable[[Delta], None]


class Patience(msgspec.Struct, frozen=True):
    """Seconds: to get a connection, and from one sign of life to the next."""

    connect: float = 10.0
    idle: float = 120.0


class Reading(Protocol):
    """Understands one answer, event by event. Pure; raises `ModelFailed`."""

    @property
    def complete(self) -> bool:
        """The provider has said that nothing follows."""
        ...

    @property
    def usable(self) -> bool:
        """The answer itself has ended, whether or not the stream has."""
        ...

    def event(self, event: SseEvent) -> Iterable[Delta]:
        """What this event adds."""
        ...

    def whole(self, body: bytes) -> Iterable[Delta]:
        """The same for a server that did not stream, but sent everything at once."""
        ...

    def reply(self) -> ModelReply:
        """All of it; `ModelFailed` if it broke off."""
        ...


class StreamingModel:
    """A provider: a pure way to write requests, a pure way to read answers, and an address."""

    def __init__(
        self,
        lanes: Lanes,
        url: str,
        headers: Mapping[str, str],
        interpreter: Interpreter,
        patience: Patience,
        encode: Callable[[ModelRequest], bytes],
        reading: Callable[[ModelRequest, Interpreter], Reading],
    ) -> None:
        common = {
            "accept": "text/event-stream, application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": "hermes-actors",
        }
        self._lanes, self._url, self._patience = lanes, httpx.URL(url), patience
        self._headers = httpx.Headers({**common, **headers})
        self._interpreter, self._encode, self._reading = interpreter, encode, reading

    async def respond(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        """One try, no second one. Cancelled or failed, the connection is closed on return."""
        asked = httpx.Request(
            "POST", self._url, headers=self._headers, content=self._encode(request)
        )
        reading = self._reading(request, self._interpreter)
        watch = _Watch(self._patience)
        try:
            with watch.scope:
                await self._converse(asked, reading, on_delta, watch)
        except httpx.TransportError as error:
            raise told("unreachable", f"{self._interpreter.who} {watch.broke(error)}") from error
        if watch.scope.cancelled_caught and not reading.usable:
            raise told("timeout", f"{self._interpreter.who} {watch.late()}")
        return reading.reply()

    async def _converse(
        self, asked: httpx.Request, reading: Reading, on_delta: OnDelta, watch: _Watch
    ) -> None:
        def connected() -> None:
            watch.connected()
            on_delta(Reached())

        exchange = await self._lanes.exchange(asked, connected)
        try:
            if exchange.status != 200:
                body = await _some(exchange, _MOST_OF_AN_ERROR)
                raise self._interpreter.refused(exchange.status, exchange.headers, body)
            await self._read(exchange, reading, on_delta, watch)
        except TooLong as error:
            raise self._interpreter.garbled(str(error)) from error
        finally:
            exchange.close()

    async def _read(
        self, exchange: Exchange, reading: Reading, on_delta: OnDelta, watch: _Watch
    ) -> None:
        kind = exchange.headers.get("content-type", "")
        if "html" in kind or exchange.headers.get("content-encoding", "identity") != "identity":
            raise self._interpreter.garbled("a web page or compressed data came in its place")
        parser = SseParser()
        if "json" in kind:
            return await _read_at_once(exchange, parser, reading, on_delta)
        while data := await exchange.read():
            # A stop that came while these bytes did is obeyed before any of them is passed on.
            await trio.lowlevel.checkpoint_if_cancelled()
            lines = parser.lines
            _pass_on(parser.feed(data), reading, on_delta)
            if reading.complete:
                return await _say_goodbye(exchange)
            if parser.lines > lines:
                watch.alive()
        await trio.lowlevel.checkpoint_if_cancelled()
        _pass_on(parser.finish(), reading, on_delta)


class _Watch:
    """The deadlines of one try, and the words for missing one."""

    def __init__(self, patience: Patience) -> None:
        self._patience, self._phase = patience, "connecting"
        self.scope = trio.CancelScope(deadline=trio.current_time() + patience.connect)

    def connected(self) -> None:
        self._phase = "waiting"
        self._move()

    def alive(self) -> None:
        self._phase = "reading"
        self._move()

    def _move(self) -> None:
        self.scope.deadline = trio.current_time() + self._patience.idle

    def late(self) -> str:
        if self._phase == "connecting":
            return f"could not be connected to within {spell(self._patience.connect)}"
        if self._phase == "waiting":
            return f"did not begin to answer within {spell(self._patience.idle)}"
        return f"fell silent for {spell(self._patience.idle)} in the middle of the answer"

    def broke(self, error: httpx.TransportError) -> str:
        why = f"{error or type(error).__name__}"
        if self._phase == "connecting":
            return f"cannot be reached: {why}"
        return f"broke the connection {'off' if self._phase == 'reading' else 'early'}: {why}"


def _pass_on(events: Iterable[SseEvent], reading: Reading, on_delta: OnDelta) -> None:
    for event in events:
        for delta in reading.event(event):
            on_delta(delta)
        if reading.complete:
            return


async def _read_at_once(
    exchange: Exchange, parser: SseParser, reading: Reading, on_delta: OnDelta
) -> None:
    body = await _some(exchange, parser.most_bytes + 1)
    if len(body) > parser.most_bytes:
        raise TooLong(f"the reply is longer than {parser.most_bytes:,} bytes")
    await trio.lowlevel.checkpoint_if_cancelled()
    for delta in reading.whole(body):
        on_delta(delta)


async def _some(exchange: Exchange, most: int) -> bytes:
    """The body, or its first `most` bytes, or what came until the connection broke."""
    pieces, size = list[bytes](), 0
    try:
        while size < most and (piece := await exchange.read()):
            pieces.append(piece)
            size += len(piece)
    except httpx.TransportError:
        if exchange.status == 200:
            raise
    return b"".join(pieces)[:most]


async def _say_goodbye(exchange: Exchange) -> None:
    """Read the end of the stream if it is there, so that the connection can be used again."""
    with trio.move_on_after(_LONGEST_GOODBYE):
        try:
            while await exchange.read():
                pass
        except httpx.TransportError:
            pass  # the answer is complete; only the connection is lost
