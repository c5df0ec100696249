"""A gateway whose model is a real provider, spoken to over a real socket by a server that obeys."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from adapters.models import Shared, make_model
from hermes_actors.config.schema import ModelSettings
from hermes_actors.testing.event_log import EventLog
from tests.adapters.models.talk import sse
from tests.adapters.raw_server import END, SSE_HEAD, Behaviour, RawServer, Visit, chunk, plain
from tests.hermes_actors.actors.commands.office import Town, living_town


def piece(finish: str | None = None, **delta: Any) -> Any:
    return {"choices": [{"delta": delta, "finish_reason": finish}]}


def says(text: str) -> Behaviour:
    """Answer with these words."""
    return _sends(SSE_HEAD + chunk(sse(piece(content=text), piece("stop"), "[DONE]")) + END)


def wants(*tools: str) -> Behaviour:
    """Answer with a call of each of these tools."""
    asked = [
        {"index": at, "id": f"c{at}", "function": {"name": name, "arguments": "{}"}}
        for at, name in enumerate(tools)
    ]
    body = sse(piece(tool_calls=asked), piece("tool_calls"), "[DONE]")
    return _sends(SSE_HEAD + chunk(body) + END)


def _sends(data: bytes) -> Behaviour:
    async def behave(visit: Visit) -> None:
        await visit.send(data)

    return behave


async def is_busy(visit: Visit) -> None:
    """Ask the client to come back in half a minute."""
    await visit.send(plain(503, b"{}", b"retry-after: 30", b"connection: close"))
    await visit.hung_up()


async def is_silent(visit: Visit) -> None:
    """Take the request and say nothing."""
    await visit.hung_up()


async def sends_headers_only(visit: Visit) -> None:
    """Promise an answer and say nothing."""
    await visit.send(SSE_HEAD)
    await visit.hung_up()


async def says_half(visit: Visit) -> None:
    """Begin an answer and say no more."""
    await visit.send(SSE_HEAD + chunk(sse(piece(content="Half a sente"))))
    await visit.hung_up()


async def talks_on(visit: Visit) -> None:
    """Never come to an end."""
    await visit.send(SSE_HEAD)
    while True:
        await visit.send(chunk(sse(piece(content="and "))))
        await trio.sleep(0.001)


class ModelServer(RawServer):
    """Does one thing after the other, one for each request."""

    def __init__(self, *behaviours: Behaviour) -> None:
        super().__init__(self._next)
        self.left = list(behaviours)

    async def _next(self, visit: Visit) -> None:
        await self.left.pop(0)(visit)

    def told(self, request: int) -> list[tuple[str, str]]:
        """The messages of a request: who, and what."""
        sent = json.loads(self.requests[request])["messages"]
        return [(each["role"], each.get("content") or "") for each in sent]


@asynccontextmanager
async def wired_town(
    folder: Path, log: EventLog, *behaviours: Behaviour
) -> AsyncIterator[tuple[Town, ModelServer]]:
    """The gateway and its model's server. Afterwards no connection is open and no place taken."""
    server, shared = ModelServer(*behaviours), Shared()
    async with trio.open_nursery() as nursery:
        await nursery.start(server.serve)
        settings = ModelSettings(provider="openai", name="m", base_url=server.url)
        async with living_town(folder / "db", log=log) as town:
            model: Any = make_model(settings, shared)
            town.model = model
            with trio.fail_after(20):  # noqa: ASYNC100  the test is inside
                yield town, server
        assert shared.lanes.limiter.borrowed_tokens == 0
        await shared.aclose()
        with trio.fail_after(5):
            await server.all_gone()
        nursery.cancel_scope.cancel()
