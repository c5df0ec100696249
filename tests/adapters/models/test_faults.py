"""A provider that fails in every way it can, over real sockets.

Each case ends in a `ModelFailed` of the right kind with words for the user, or in an answer; and
afterwards nothing is open: no socket, no task, no place of the limiter.
"""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from adapters.http_client import Lanes
from adapters.http_dial import dialer
from adapters.models import Shared, make_model
from hermes_actors.config.schema import ModelChoice, ModelSettings
from hermes_actors.config.secrets import Secret
from hermes_actors.ports import ModelFailed
from hermes_actors.testing import take_census
from hermes_actors.values import Delta, ModelNotice, ModelReply, TextDelta, ToolCall
from tests.adapters.certificates import server_tls, trusting_tls
from tests.adapters.models.talk import ask, sse
from tests.adapters.raw_server import END, SSE_HEAD, Behaviour, RawServer, Visit, chunk, plain

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

    async def serve(self, behaviour: Behaviour) -> RawServer:
        server = RawServer(behaviour)
        await self._nursery.start(server.serve)
        return server

    async def ask(self, url: str, **more: Any) -> ModelReply:
        model = make_model(settings(url, **more), self.shared)
        return await model.respond(ask(model=""), self.seen.append)

    async def fail(self, url: str, **more: Any) -> ModelFailed:
        with pytest.raises(ModelFailed) as failed:
            await self.ask(url, **more)
        assert KEY not in str(failed.value)
        assert str(failed.value).startswith("openai/m ")
        return failed.value


@pytest.fixture
async def world(nursery: trio.Nursery) -> AsyncIterator[World]:
    before = take_census()["fds"]
    world = World(nursery)
    yield world
    await world.shared.aclose()
    assert world.lanes.limiter.borrowed_tokens == 0
    nursery.cancel_scope.cancel()
    with trio.CancelScope(shield=True), trio.move_on_after(5):
        await trio.testing.wait_all_tasks_blocked()
    # The server's ends close when it hears of ours; all that is left is its listening sockets.
    assert take_census()["fds"] <= before + 8


def answering(*answers: bytes) -> Behaviour:
    """Send these answers, one for each request, the last one again and again."""
    left = list(answers)

    async def behave(visit: Visit) -> None:
        await visit.send(left.pop(0) if len(left) > 1 else left[0])

    return behave


def streaming(data: bytes) -> bytes:
    return SSE_HEAD + chunk(data) + END


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
        await model.respond(ask(), world.seen.append)
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


@pytest.mark.parametrize("tries", [1, 2])
async def test_a_reset_in_the_middle_of_a_letter(tries: int, world: World) -> None:
    letter = sse(piece(content="größer")).replace(b"\\u00f6", "ö".encode())
    broken = letter[: letter.index("ö".encode()) + 1]
    asked = 0

    async def break_once(visit: Visit) -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            return await visit.send(streaming(WELL))
        await visit.send(SSE_HEAD + chunk(HALF) + chunk(broken))
        await trio.testing.wait_all_tasks_blocked()
        visit.reset()

    server = await world.serve(break_once)
    if tries == 1:
        assert (await world.fail(server.url)).kind == "unreachable"
        assert world.seen == [TextDelta("all ")]
        return
    assert (await world.ask(server.url, tries=tries)).text == "all well"
    first, notice, *rest = world.seen
    assert (first, rest) == (TextDelta("all "), [TextDelta("all "), TextDelta("well")])
    assert isinstance(notice, ModelNotice)
    assert notice.restarts
    assert "begins again" in notice.text


async def test_letters_that_arrive_in_two_pieces_are_whole(world: World) -> None:
    text = "größer 🙂"
    data = f'data: {{"choices":[{{"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}\n\n'

    async def drip(visit: Visit) -> None:
        await visit.send(SSE_HEAD)
        for byte in data.encode():
            await visit.send(chunk(bytes((byte,))))
        await visit.send(END)

    server = await world.serve(drip)
    assert (await world.ask(server.url)).text == text


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"data: {not json\n\n", "cannot be read"),
        (b"data: \xff\xfe\n\n", "cannot be read"),
        (sse({"choices": []}, "[DONE]"), "empty"),
        (b"", "empty"),
        (HALF, "broke off"),
        (b"\x00" * 5000, "empty"),
    ],
    ids=["garbage", "no text", "no choices", "nothing", "half", "zeros"],
)
async def test_an_answer_that_is_none(data: bytes, words: str, world: World) -> None:
    answer = streaming(data) if data else SSE_HEAD + END
    server = await world.serve(answering(answer))
    failure = await world.fail(server.url)
    assert failure.kind == "bad_reply"
    assert words in str(failure)


async def test_an_error_after_a_good_beginning(world: World) -> None:
    error = sse({"error": {"message": f"overloaded {KEY}", "code": 503}})
    server = await world.serve(answering(streaming(HALF + error)))
    assert (await world.fail(server.url)).kind == "overloaded"


async def test_a_web_page_in_place_of_an_answer(world: World) -> None:
    server = await world.serve(answering(plain(200, b"<html>Log in</html>", kind=b"text/html")))
    failure = await world.fail(server.url)
    assert failure.kind == "bad_reply"
    assert "web page" in str(failure)


async def test_a_redirect_is_not_followed_with_the_key(world: World) -> None:
    server = await world.serve(answering(plain(307, b"", b"location: http://elsewhere.invalid/")))
    assert "redirects" in str(await world.fail(server.url))


async def test_an_answer_at_once_although_a_stream_was_asked_for(world: World) -> None:
    whole = {"choices": [{"message": {"content": "all well"}, "finish_reason": "stop"}]}
    server = await world.serve(answering(plain(200, json.dumps(whole).encode())))
    assert (await world.ask(server.url)).text == "all well"


@pytest.mark.parametrize("kind", [b"text/event-stream", b"application/json"])
@pytest.mark.slow
async def test_a_reply_of_fifty_megabytes_is_refused(kind: bytes, world: World) -> None:
    async def flood(visit: Visit) -> None:
        await visit.send(SSE_HEAD.replace(b"text/event-stream", kind))
        block = chunk(sse(piece(content="x" * 10_000)) * 20)
        for _ in range(250):
            await visit.send(block)
        await visit.send(END)

    server = await world.serve(flood)
    failure = await world.fail(server.url)
    assert failure.kind == "bad_reply"
    assert "longer than 40,000,000 bytes" in str(failure)
    await server.all_gone()


async def test_an_event_that_never_ends_is_refused(world: World) -> None:
    async def flood(visit: Visit) -> None:
        await visit.send(SSE_HEAD + chunk(b"data: "))
        while True:
            await visit.send(chunk(b"x" * 200_000))

    server = await world.serve(flood)
    assert "one event of the reply is longer" in str(await world.fail(server.url))


async def test_calls_with_bad_json_and_without_ids_arrive_as_they_are(world: World) -> None:
    def call(arguments: str, **more: Any) -> Any:
        return piece(tool_calls=[{**more, "function": {"name": "t", "arguments": arguments}}])

    data = sse(
        call('{"bro', index=0, id=""), call("{}", index=1, id=""), piece("tool_calls"), "[DONE]"
    )
    server = await world.serve(answering(streaming(data)))
    reply = await world.ask(server.url)
    assert reply.tool_calls == (ToolCall("call_1_0", "t", '{"bro'), ToolCall("call_1_1", "t", "{}"))


async def test_an_answer_that_was_cut_says_so(world: World) -> None:
    server = await world.serve(answering(streaming(sse(piece("length", content="so"), "[DONE]"))))
    assert (await world.ask(server.url)).finish_reason == "length"


async def test_a_stream_that_stays_open_after_the_last_word_holds_nobody(world: World) -> None:
    async def linger(visit: Visit) -> None:
        await visit.send(SSE_HEAD + chunk(WELL))
        await visit.hung_up()

    server = await world.serve(linger)
    assert (await world.ask(server.url, idle_timeout=60.0)).text == "all well"
    await server.all_gone()


async def test_a_stream_that_gives_its_reason_and_then_hangs_is_taken(world: World) -> None:
    async def linger(visit: Visit) -> None:
        await visit.send(SSE_HEAD + chunk(sse(piece("stop", content="all well"))))
        await visit.hung_up()

    server = await world.serve(linger)
    assert (await world.ask(server.url)).text == "all well"


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
