"""Stop means stop: at every step, over a scripted line and over real sockets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import trio

from adapters.http_client import Lanes
from adapters.models import Shared, make_model
from hermes_actors.config.schema import ModelSettings
from hermes_actors.ports import ModelClient
from hermes_actors.testing import Stage, cancel_at_every_step, take_census
from hermes_actors.values import Delta
from tests.adapters.models.scripted_line import Exchange
from tests.adapters.models.talk import ask, sse
from tests.adapters.raw_server import END, SSE_HEAD, RawServer, Visit, chunk, plain


def piece(finish: str | None = None, **delta: object) -> object:
    return {"choices": [{"delta": delta, "finish_reason": finish}]}


WELL: Sequence[bytes | float] = (
    0.1,
    SSE_HEAD,
    chunk(sse(piece(content="a"))),
    0.1,
    chunk(sse(piece(content="b"), piece(content="c"))),
    chunk(sse(piece("stop"), "[DONE]")),
    END,
)
BUSY: Sequence[bytes | float] = (0.1, plain(503, b"{}", b"connection: close"))
BROKEN: Sequence[bytes | float] = (SSE_HEAD, chunk(sse(piece(content="a"))), 0.1, b"zz\r\n")
LINGERS: Sequence[bytes | float] = (SSE_HEAD, chunk(sse(piece("stop", content="a"), "[DONE]")))


def model(lanes: Lanes, url: str = "http://line/v1", tries: int = 3) -> ModelClient:
    settings = ModelSettings(provider="openai", name="m", base_url=url, tries=tries)
    return make_model(settings, Shared(lanes=lanes, dice=lambda: 0.5))


class Scenario:
    """One question over scripted lines; afterwards all are closed and nobody was told late."""

    def __init__(self, *scripts: Sequence[bytes | float]) -> None:
        self._scripts = scripts

    async def __call__(self, stage: Stage) -> None:
        exchange, late = Exchange(*self._scripts), list[Delta]()
        lanes = Lanes(dial=exchange.dial)
        stage.world = (exchange, lanes, late)
        with trio.CancelScope() as scope:
            stage.on_stop(scope.cancel)
            stage.arm()
            await model(lanes).respond(ask(), lambda d: late.append(d) if stage.struck else None)

    def verify(self, stage: Stage) -> None:
        exchange, lanes, late = stage.world
        assert late == []
        assert lanes.limiter.borrowed_tokens == 0
        resting = [each.stream for group in lanes._idle.values() for each in group]
        assert all(line.closed or line in resting for line in exchange.lines)


@pytest.mark.parametrize(
    "scripts",
    [(WELL,), (BUSY, WELL), (BROKEN, WELL), (LINGERS,)],
    ids=["an answer", "a retry", "a restart", "no goodbye"],
)
def test_stopped_at_any_step_the_line_is_closed_and_nothing_more_is_said(
    scripts: tuple[Sequence[bytes | float], ...],
) -> None:
    report = cancel_at_every_step(Scenario(*scripts), seeds=(0, 1))
    assert report.ok, str(report)
    assert report.exhaustive


async def hang(visit: Visit) -> None:
    await visit.hung_up()


async def begin(visit: Visit) -> None:
    await visit.send(SSE_HEAD + chunk(sse(piece(content="a"))))
    await visit.hung_up()


async def talk_on(visit: Visit) -> None:
    await visit.send(SSE_HEAD)
    while True:
        await visit.send(chunk(sse(piece(content="a")) * 20))


@pytest.mark.parametrize("behaviour", [hang, begin, talk_on])
async def test_the_server_sees_every_one_of_a_hundred_stops(
    behaviour: object, nursery: trio.Nursery
) -> None:
    server = RawServer(behaviour)  # type: ignore[arg-type]
    await nursery.start(server.serve)
    lanes = Lanes()
    client = model(lanes, server.url)
    async with trio.open_nursery() as runs:
        for _ in range(100):
            runs.start_soon(client.respond, ask(), lambda delta: None)
        await server.asked(100)
        runs.cancel_scope.cancel()
    assert lanes.limiter.borrowed_tokens == 0
    with trio.fail_after(5):
        await server.all_gone()
    assert server.open == 0


@pytest.mark.slow
async def test_after_a_storm_of_stops_every_question_is_answered(nursery: trio.Nursery) -> None:
    async def answer_late(visit: Visit) -> None:
        await visit.send(SSE_HEAD + chunk(sse(piece(content="a"))))
        await trio.sleep(0.001 * (len(server.requests) % 11))
        await visit.send(chunk(sse(piece("stop"), "[DONE]")) + END)

    server = RawServer(answer_late)
    await nursery.start(server.serve)
    lanes, before = Lanes(at_once=50), take_census()
    client = model(lanes, server.url)
    async with trio.open_nursery() as storm:
        for number in range(800):
            storm.start_soon(_impatient, client, 0.001 * (number % 60))
    assert lanes.limiter.borrowed_tokens == 0
    for _ in range(50):
        assert (await client.respond(ask(), lambda delta: None)).text == "a"
    await lanes.aclose()
    await server.all_gone()
    await trio.testing.wait_all_tasks_blocked()
    after = take_census()
    assert (after["fds"], after["tasks"]) == (before["fds"], before["tasks"])


async def _impatient(client: ModelClient, patience: float) -> None:
    with trio.move_on_after(patience):
        await client.respond(ask(), lambda delta: None)
