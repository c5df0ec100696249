"""A server that can be told to misbehave, a model that speaks with it, and what its reader saw."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from adapters.http_client import Lanes
from adapters.http_dial import dialer
from adapters.models import Shared, make_model
from hermes_actors.config.schema import ModelSettings
from hermes_actors.config.secrets import Secret
from hermes_actors.ports import ModelFailed
from hermes_actors.values import Delta, ModelReply, Reached
from tests.adapters.certificates import trusting_tls
from tests.adapters.models.talk import ask, sse
from tests.adapters.raw_server import END, SSE_HEAD, Behaviour, RawServer, Visit, chunk

KEY = "sk-canary-0123456789abcdef"


def piece(finish: str | None = None, **delta: Any) -> Any:
    return {"choices": [{"delta": delta, "finish_reason": finish}]}


WELL = sse(piece(content="all "), piece(content="well"), piece("stop"), "[DONE]")
HALF = sse(piece(content="all "))


def settings(url: str, **more: Any) -> ModelSettings:
    common = {
        "provider": "openai",
        "name": "m",
        "api_key": Secret(KEY),
        "connect_timeout": 5.0,
        "idle_timeout": 0.3,
        "request_timeout": 10.0,
        "tries": 1,
    }
    return ModelSettings(**{**common, "base_url": url, **more})


class World:
    """A server, a model that speaks with it, and what its reader has seen."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self.lanes = Lanes(dial=dialer(trusting_tls()))
        self.shared = Shared(lanes=self.lanes, dice=lambda: 0.0)
        self.seen: list[Delta] = []
        self.servers: list[RawServer] = []

    async def serve(self, behaviour: Behaviour) -> RawServer:
        server = RawServer(behaviour)
        await self._nursery.start(server.serve)
        self.servers.append(server)
        return server

    async def ask(self, url: str, **more: Any) -> ModelReply:
        model = make_model(settings(url, **more), self.shared)
        return await model.respond(ask(model=""), self.hear)

    def hear(self, delta: Delta) -> None:
        """Keep what is part of an answer."""
        if not isinstance(delta, Reached):
            self.seen.append(delta)

    async def fail(self, url: str, **more: Any) -> ModelFailed:
        with pytest.raises(ModelFailed) as failed:
            await self.ask(url, **more)
        assert KEY not in str(failed.value)
        assert str(failed.value).startswith("openai/m ")
        return failed.value


def answering(*answers: bytes) -> Behaviour:
    """Send these answers, one for each request, the last one again and again."""
    left = list(answers)

    async def behave(visit: Visit) -> None:
        await visit.send(left.pop(0) if len(left) > 1 else left[0])

    return behave


def streaming(data: bytes) -> bytes:
    return SSE_HEAD + chunk(data) + END
