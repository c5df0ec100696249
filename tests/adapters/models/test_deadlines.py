"""Deadlines to the second, on virtual time: a scripted line in place of the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx  # noqa: ASYNC127  the type that a dialler is given
import pytest
import trio
from trio.testing import MockClock

from adapters.http_client import Lanes
from adapters.models import Shared, make_model
from hermes_actors.config.schema import ModelSettings
from hermes_actors.ports import ModelFailed
from tests.adapters.models.scripted_line import Exchange
from tests.adapters.models.talk import ask, sse
from tests.adapters.raw_server import SSE_HEAD, chunk

DIAL = 0.01  # what the scripted exchange takes to connect
WORD = chunk(sse({"choices": [{"delta": {"content": "a"}}]}))
SETTINGS: dict[str, Any] = {"provider": "openai", "name": "m", "base_url": "http://line/v1"}


async def failing(lanes: Lanes, **more: Any) -> ModelFailed:
    settings = ModelSettings(**{**SETTINGS, **more})
    with pytest.raises(ModelFailed) as failed:
        await make_model(settings, Shared(lanes=lanes)).respond(ask(), lambda delta: None)
    assert lanes.limiter.borrowed_tokens == 0
    return failed.value


@pytest.mark.parametrize(
    ("script", "at"),
    [
        ((), 120),
        ((SSE_HEAD,), 120),
        ((100.0, SSE_HEAD + WORD), 100 + 120),
        ((SSE_HEAD + WORD, 119.0, WORD, 119.0, WORD), 2 * 119 + 120),
        ((SSE_HEAD, 119.0, WORD[:10], 119.0, WORD[10:]), 120),
    ],
    ids=["no answer", "only a head", "a late word", "slow words", "a slow word"],
)
async def test_silence_ends_a_try_exactly_after_the_idle_timeout(
    script: Sequence[bytes | float], at: float, autojump_clock: MockClock
) -> None:
    exchange = Exchange(script)
    failure = await failing(Lanes(dial=exchange.dial), tries=1)
    assert failure.kind == "timeout"
    assert trio.current_time() == pytest.approx(DIAL + at)
    assert exchange.lines[0].closed


async def test_a_connection_that_does_not_come_ends_a_try_after_its_own_timeout(
    autojump_clock: MockClock,
) -> None:
    async def dial(url: httpx.URL, server_name: str) -> trio.abc.Stream:
        await trio.sleep_forever()
        raise AssertionError

    failure = await failing(Lanes(dial=dial), tries=1, connect_timeout=7.0)
    assert (failure.kind, trio.current_time()) == ("timeout", 7)


async def test_tries_and_waits_together_end_exactly_at_the_request_timeout(
    autojump_clock: MockClock,
) -> None:
    exchange = Exchange((), (), ())
    failure = await failing(Lanes(dial=exchange.dial), tries=3, request_timeout=300.0)
    assert failure.kind == "timeout"
    assert trio.current_time() == 300
    assert all(line.closed for line in exchange.lines)
