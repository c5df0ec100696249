"""Server-sent events: our own responder, which knows at once when nobody reads any more.

Nothing is buffered here but one batch. Where the client does not read, `send` waits, the feed's
reader fills up and is dropped by the feed; the one who speaks does not notice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
import trio

from adapters.http.answers import Complaint, error_object
from adapters.http.following import Batch, Following
from adapters.http.front import Send
from hermes_actors.actors.feed import TooSlow
from hermes_actors.errors import Refusal
from hermes_actors.happenings import RunEnded

TOGETHER = 0.025
DONE = b"data: [DONE]\n\n"
KEEPALIVE = b": keepalive\n\n"


def event(data: Any, *, id: str | None = None, name: str | None = None) -> bytes:
    """One event. JSON has no bare line ends, so one `data` line is enough."""
    lines = [f"id: {id}\n"] if id else []
    lines += [f"event: {name}\n"] if name else []
    return "".join(lines).encode() + b"data: " + msgspec.json.encode(data) + b"\n\n"


class EventWriter:
    """The open body of one response."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def head(self, headers: Mapping[str, str]) -> None:
        """Begin. From here on, trouble can only be told as an event."""
        all_headers = {"Content-Type": "text/event-stream; charset=utf-8", **headers}
        pairs = [(name.encode(), text.encode("latin-1")) for name, text in all_headers.items()]
        await self._send({"type": "http.response.start", "status": 200, "headers": pairs})

    async def write(self, data: bytes) -> None:
        """Send it, and wait for as long as the client does not take it."""
        if data:
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def close(self, data: bytes = b"") -> None:
        """Send this and end the body."""
        await self._send({"type": "http.response.body", "body": data, "more_body": False})


class Collector:
    """Gives what happens in a run in steps: the first word at once, then at most one step in 25 ms.

    A step that has nothing in it means that it has been quiet for so long that a sign of life is
    due.
    """

    def __init__(self, following: Following, keepalive: float) -> None:
        self._following, self._keepalive = following, keepalive
        self._due = -math.inf

    async def step(self) -> Batch:
        """What happened since the last step."""
        with trio.move_on_after(self._keepalive):
            first = await self._following.next()
            found = await self._until_due(first)
            self._due = trio.current_time() + TOGETHER
            return found
        return Batch()

    async def _until_due(self, first: Batch) -> Batch:
        if trio.current_time() >= self._due:
            return first
        items = [*first.items]
        with trio.move_on_at(self._due):
            while not isinstance(items[-1].what, RunEnded):
                items += (await self._following.next()).items
        return Batch(tuple(items))


def trouble(no: Complaint | Refusal) -> dict[str, Any]:
    """What cannot be a status any more, as an error in an event."""
    if isinstance(no, Complaint):
        return error_object(no.status, no.code, str(no), no.param)
    if isinstance(no, TooSlow):
        words = "You did not keep up; the run goes on. Read its events with Last-Event-ID."
        return error_object(503, "too_slow", words) | {"cursor": no.cursor}
    return error_object(503, "unavailable", str(no))
