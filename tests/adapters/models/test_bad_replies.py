"""A provider that answers, but how: noise, halves, floods and riddles, over real sockets."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio

from hermes_actors.values import ModelNotice, TextDelta, ToolCall
from tests.adapters.models.provider import (
    HALF,
    KEY,
    WELL,
    World,
    answering,
    piece,
    streaming,
)
from tests.adapters.models.talk import sse
from tests.adapters.raw_server import END, SSE_HEAD, Visit, chunk, plain


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
