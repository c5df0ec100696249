"""A provider that refuses, hangs, breaks or is not there, over real sockets.

Each case ends in a `ModelFailed` of the right kind with words for the user, or in an answer; and
afterwards nothing is open: no socket, no task, no place of the limiter.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
import trio

from adapters.models import make_model
from hermes_actors.config.schema import ModelChoice
from hermes_actors.config.secrets import Secret
from hermes_actors.ports import ModelFailed
from hermes_actors.values import ModelNotice, TextDelta
from tests.adapters.certificates import server_tls
from tests.adapters.models.provider import (
    HALF,
    KEY,
    WELL,
    World,
    answering,
    settings,
    streaming,
)
from tests.adapters.models.talk import ask, sse
from tests.adapters.raw_server import END, SSE_HEAD, RawServer, Visit, chunk, plain


async def test_all_is_well(world: World) -> None:
    server = await world.serve(answering(streaming(WELL)))
    assert (await world.ask(server.url)).text == "all well"
    assert world.seen == [TextDelta("all "), TextDelta("well")]
    sent = json.loads(server.requests[0])
    assert (sent["model"], sent["stream"]) == ("m", True)
    visit = server.visits[0]
    assert visit.head.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert visit.header("authorization") == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "bad_request"),
        (401, "unauthorized"),
        (402, "billing"),
        (404, "bad_request"),
        (413, "context_overflow"),
        (429, "rate_limited"),
        (500, "overloaded"),
        (502, "overloaded"),
        (503, "overloaded"),
        (529, "overloaded"),
    ],
)
async def test_every_refusal_has_its_kind_and_the_connection_lives_on(
    status: int, kind: str, world: World
) -> None:
    echo = json.dumps({"error": {"message": f"no, {KEY}"}}).encode()
    server = await world.serve(answering(plain(status, echo), streaming(WELL)))
    assert (await world.fail(server.url)).kind == kind
    assert (await world.ask(server.url)).text == "all well"
    assert len(server.visits) == 1


@pytest.mark.parametrize("failure", [429, 500, 502, 503, 529])
async def test_what_may_pass_is_tried_again_and_works(failure: int, world: World) -> None:
    refusal = plain(failure, b"{}", b"retry-after: 0")
    server = await world.serve(answering(refusal, refusal, streaming(WELL)))
    assert (await world.ask(server.url, tries=3)).text == "all well"
    assert len(server.requests) == 3
    assert len({*server.requests}) == 1
    assert world.seen == [TextDelta("all "), TextDelta("well")]


async def test_no_more_tries_than_allowed(world: World) -> None:
    server = await world.serve(answering(plain(503, b"")))
    failure = await world.fail(server.url, tries=3)
    assert (failure.kind, len(server.requests)) == ("overloaded", 3)
    assert "(3 tries.)" in str(failure)


async def test_a_wait_that_is_too_long_is_told_instead_of_kept(world: World) -> None:
    server = await world.serve(answering(plain(429, b"", b"retry-after: 7200")))
    failure = await world.fail(server.url, tries=3)
    assert (failure.kind, failure.retry_after) == ("rate_limited", 7200)
    assert len(server.requests) == 1


async def test_nobody_listens(world: World) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        failure = await world.fail(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
    assert failure.kind == "unreachable"
    assert "refused" in str(failure)


async def test_nobody_has_that_name(world: World) -> None:
    assert (await world.fail("http://no-such-host.invalid/v1")).kind == "unreachable"


async def test_no_tls_where_tls_should_be(world: World, nursery: trio.Nursery) -> None:
    async def answer_anything(stream: trio.SocketStream) -> None:
        await stream.receive_some(65536)
        await stream.send_all(plain(400, b"what?"))
        stream.socket.close()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    nursery.start_soon(trio.serve_listeners, answer_anything, listeners)
    failure = await world.fail(f"https://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1")
    assert failure.kind == "unreachable"
    assert "TLS failed" in str(failure)


async def test_a_certificate_for_somebody_else(
    world: World, nursery: trio.Nursery, tmp_path: Path
) -> None:
    server = RawServer(answering(streaming(WELL)))
    await nursery.start(server.serve, server_tls(tmp_path))
    failure = await world.fail(
        f"https://localhost.localdomain:{server.port}/v1", connect_timeout=2.0
    )
    assert failure.kind == "unreachable"
    assert (await world.ask(f"https://localhost:{server.port}/v1")).text == "all well"


async def test_silence_before_the_answer(world: World) -> None:
    async def say_nothing(visit: Visit) -> None:
        await visit.hung_up()

    server = await world.serve(say_nothing)
    failure = await world.fail(server.url)
    assert failure.kind == "timeout"
    assert "did not begin to answer within 300ms" in str(failure)
    await server.all_gone()


async def test_silence_after_the_head(world: World) -> None:
    async def fall_silent(visit: Visit) -> None:
        await visit.send(SSE_HEAD)
        await visit.hung_up()

    server = await world.serve(fall_silent)
    assert (await world.fail(server.url)).kind == "timeout"
    await server.all_gone()


async def test_silence_in_the_middle(world: World) -> None:
    async def fall_silent(visit: Visit) -> None:
        await visit.send(SSE_HEAD + chunk(HALF))
        await visit.hung_up()

    server = await world.serve(fall_silent)
    failure = await world.fail(server.url)
    assert (failure.kind, world.seen) == ("timeout", [TextDelta("all ")])
    assert "fell silent" in str(failure)
    await server.all_gone()


async def test_a_drip_of_single_bytes_is_as_good_as_silence(world: World) -> None:
    async def drip(visit: Visit) -> None:
        await visit.send(SSE_HEAD)
        for byte in WELL:
            await visit.send(chunk(bytes((byte,))))
            await trio.sleep(0.02)

    server = await world.serve(drip)
    assert (await world.fail(server.url)).kind == "timeout"


async def test_signs_of_life_keep_a_slow_answer_alive(world: World) -> None:
    async def ponder(visit: Visit) -> None:
        await visit.send(SSE_HEAD)
        for _ in range(8):
            await trio.sleep(0.1)
            await visit.send(chunk(b": still here\n\n"))
        await visit.send(chunk(WELL) + END)

    server = await world.serve(ponder)
    assert (await world.ask(server.url)).text == "all well"


async def test_the_whole_deadline_holds_against_endless_signs_of_life(world: World) -> None:
    async def chatter(visit: Visit) -> None:
        await visit.send(SSE_HEAD)
        while True:
            await visit.send(chunk(b": still here\n\n"))
            await trio.sleep(0.05)

    server = await world.serve(chatter)
    model = make_model(settings(server.url, request_timeout=0.5), world.shared)
    with pytest.raises(ModelFailed, match="No answer within 500ms") as failed:
        await model.respond(ask(), world.hear)
    assert failed.value.kind == "timeout"
    await server.all_gone()


async def test_a_connection_that_nobody_accepts(world: World) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        port = deaf.getsockname()[1]
        # Fill the queue, so that the next one waits for ever: a host that drops packets.
        crowd = [await _knock(port) for _ in range(3)]
        failure = await world.fail(f"http://127.0.0.1:{port}/v1", connect_timeout=0.3)
        for each in crowd:
            each.close()
    assert failure.kind == "timeout"
    assert "could not be connected to within 300ms" in str(failure)


async def _knock(port: int) -> socket.socket:
    knocking = socket.socket()
    knocking.setblocking(False)
    knocking.connect_ex(("127.0.0.1", port))
    await trio.lowlevel.checkpoint()
    return knocking


async def test_a_redirect_is_not_followed_with_the_key(world: World) -> None:
    server = await world.serve(answering(plain(307, b"", b"location: http://elsewhere.invalid/")))
    assert "redirects" in str(await world.fail(server.url))


async def test_a_second_provider_takes_over(world: World) -> None:
    broken = await world.serve(answering(plain(503, b"")))
    parts = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    other = await world.serve(answering(streaming(sse(*parts))))
    choice = ModelChoice(
        provider="anthropic", name="claude", base_url=other.url, api_key=Secret("k2")
    )
    reply = await world.ask(broken.url, tries=3, fallbacks=(choice,))
    assert (reply.text, reply.model) == ("hi", "claude")
    assert len(broken.requests) == 3
    assert json.loads(other.requests[0])["model"] == "claude"
    assert other.visits[0].header("x-api-key") == "k2"
    assert other.visits[0].head.startswith(b"POST /v1/messages HTTP/1.1\r\n")
    assert isinstance(world.seen[0], ModelNotice)
    assert "Now answering: anthropic/claude" in world.seen[0].text
