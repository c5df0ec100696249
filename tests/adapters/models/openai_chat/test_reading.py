"""Chat completions, as read: OpenAI's own, and the habits of those who imitate them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.models.openai_chat.reading import ChatReading
from adapters.models.openai_chat.wire import encode
from adapters.models.options import Options
from adapters.models.sse import SseEvent
from hermes_actors.ports import ModelFailed
from hermes_actors.values import (
    AssistantMessage,
    ModelReply,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolMessage,
    Usage,
    UserMessage,
)
from tests.adapters.models.talk import INTERPRETER, ask, read, reader

answer = reader(ChatReading)
DONE = "[DONE]"


def piece(finish: object = None, **delta: Any) -> Any:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(name: str | None = None, arguments: Any = None, **more: Any) -> Any:
    return piece(tool_calls=[{**more, "function": {"name": name, "arguments": arguments}}])


def calls_of(*events: Any) -> list[tuple[str, str, str]]:
    """The calls of an answer, after checking that its pieces say the same."""
    deltas, reply = answer(*events)
    said: dict[int, list[str]] = {}
    for delta in deltas:
        if isinstance(delta, ToolCallDelta):
            first = delta.index not in said
            assert first == (delta.id is not None) == (delta.name is not None)
            slot = said.setdefault(delta.index, [delta.id or "", delta.name or "", ""])
            slot[2] += delta.arguments
    whole = [(each.id, each.name, each.arguments) for each in reply.tool_calls]
    assert [(a, b, c or "{}") for _, (a, b, c) in sorted(said.items())] == whole
    return whole


def test_words_come_piece_by_piece_and_as_a_whole_with_their_usage() -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 2},
        "cost": 0.25,
    }
    deltas, reply = answer(
        piece(role="assistant", content=""),
        piece(content="Good "),
        piece(content="day"),
        piece("stop"),
        {"choices": [], "usage": usage},
        DONE,
    )
    assert deltas == [TextDelta("Good "), TextDelta("day")]
    counted = Usage(input=10, output=5, cache_read=8, reasoning=2, cost=0.25)
    assert reply == ModelReply("Good day", usage=counted, model="m")


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thinking_is_never_part_of_the_answer(name: str) -> None:
    deltas, reply = answer(piece(**{name: "hm"}), piece(content="yes"), piece("stop"), DONE)
    assert deltas == [ReasoningDelta("hm"), TextDelta("yes")]
    assert (reply.text, reply.reasoning) == ("yes", "hm")


def test_parallel_calls_are_told_apart_by_their_index() -> None:
    assert calls_of(
        call("terminal", "", index=0, id="a"),
        call("terminal", "", index=1, id="b"),
        call(None, '{"x":', index=0),
        call(None, '{"y":2}', index=1),
        call(None, "1}", index=0),
        piece("tool_calls"),
        DONE,
    ) == [("a", "terminal", '{"x":1}'), ("b", "terminal", '{"y":2}')]


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        ([call("t", "{}", id="a"), call("t", "{}", id="b")], [("a", "t", "{}"), ("b", "t", "{}")]),
        ([call("t", '{"x":', id="a"), call(None, "1}")], [("a", "t", '{"x":1}')]),
        ([call("t", "{}"), call("u", "{}")], [("call_1_0", "t", "{}"), ("call_1_1", "u", "{}")]),
        ([call("t", "{}"), call("t", "{}")], [("call_1_0", "t", "{}"), ("call_1_1", "t", "{}")]),
    ],
    ids=["ids tell them apart", "pieces follow", "names tell them apart", "the same twice"],
)
def test_calls_without_an_index(events: list[Any], calls: list[tuple[str, str, str]]) -> None:
    assert calls_of(*events, piece("stop"), DONE) == calls


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        (
            [call("t", "{}", index=0, id="a"), call("t", "{}", index=0, id="b")],
            [("a", "t", "{}"), ("b", "t", "{}")],
        ),
        (
            [call("t", "{}", index=0, id="a"), call("t", "{}", index=1, id="a")],
            [("a", "t", "{}"), ("a_2", "t", "{}")],
        ),
        ([call("t", "{}", index=0, id=7)], [("7", "t", "{}")]),
        ([call("t", "{}", index=0, id="  ")], [("call_1_0", "t", "{}")]),
        ([call("t", {"b": 1, "a": 2}, index=0, id="a")], [("a", "t", '{"a":2,"b":1}')]),
        ([call("t", None, index=0, id="a")], [("a", "t", "{}")]),
        ([call("t", '{"bro', index=0, id="a")], [("a", "t", '{"bro')]),
        ([call(None, "{}", index=0, id="a")], [("a", "", "{}")]),
        (
            [call("", "", index=0, id="a"), call("t", "", index=0), call("t", "{}", index=0)],
            [("a", "t", "{}")],
        ),
    ],
    ids=[
        "a new id on the same index", "an id used twice", "a number as id", "a blank id",
        "an object as arguments", "no arguments", "broken arguments", "no name", "a late name",
    ],
)  # fmt: skip
def test_habits_of_imitators(events: list[Any], calls: list[tuple[str, str, str]]) -> None:
    assert calls_of(*events, piece("tool_calls"), DONE) == calls


def test_an_id_that_an_earlier_turn_has_used_is_not_used_again() -> None:
    earlier = (
        UserMessage("a"),
        AssistantMessage("", (ToolCall("call_0", "t", "{}"),)),
        ToolMessage("call_0", "ok"),
    )
    reading = ChatReading(ask(*earlier), INTERPRETER)
    _, reply = read(reading, call("t", "{}", index=0, id="call_0"), piece("tool_calls"), DONE)
    assert [each.id for each in reply.tool_calls] == ["call_0_2"]


@pytest.mark.parametrize(
    ("said", "with_call", "meant"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool_calls"),
        ("tool_calls", False, "stop"),
        ("function_call", True, "tool_calls"),
        ("length", False, "length"),
        ("length", True, "length"),
        ("MAX_TOKENS", False, "length"),
        ("content_filter", False, "content_filter"),
        ("SAFETY", False, "content_filter"),
        ("eos", False, "stop"),
        (None, False, "stop"),
        (None, True, "tool_calls"),
        (7, False, "stop"),
    ],
)
def test_every_reason_to_finish_has_one_of_four_meanings(
    said: object, with_call: bool, meant: str
) -> None:
    events = [call("t", "{}", index=0, id="a")] if with_call else [piece(content="x")]
    assert answer(*events, piece(said), DONE)[1].finish_reason == meant


def test_content_in_parts_is_joined_and_parts_that_are_no_words_are_left_out() -> None:
    parts = [{"type": "text", "text": "ye"}, {"type": "thinking"}, {"type": "text", "text": "s"}]
    assert answer(piece(content=parts), piece("stop"), DONE)[1].text == "yes"


def test_a_refusal_is_told_to_the_reader() -> None:
    assert answer(piece(refusal="I will not."), piece("stop"), DONE)[1].text == "I will not."


def test_nulls_and_missing_fields_are_no_news() -> None:
    empty = {"choices": None, "usage": None, "error": None}
    nothing = {"choices": [{"index": 0}]}
    deltas, reply = answer(
        empty, nothing, piece(content=None, tool_calls=None), piece("stop"), DONE
    )
    assert (deltas, reply) == ([], ModelReply(model="m"))


def test_an_answer_may_end_without_the_last_word_if_it_said_why_it_ends() -> None:
    assert answer(piece(content="x"), piece("stop"))[1].text == "x"


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([piece(content="half")], "broke off"),
        ([call("t", '{"x":', index=0, id="a")], "broke off"),
        ([], "empty"),
        ([DONE], "empty"),
        ([{"choices": []}, DONE], "empty"),
        (["{not json"], "malformed"),
        (['"text"'], "Expected `object`"),
        ([{"choices": 7}], "Expected `array"),
    ],
)
def test_an_answer_that_is_none_is_refused(events: list[Any], why: str) -> None:
    with pytest.raises(ModelFailed, match=why) as failed:
        answer(*events)
    assert failed.value.kind == "bad_reply"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "slow down", "code": 429}, "rate_limited"),
        ({"message": "Rate limit reached", "type": "requests"}, "rate_limited"),
        ({"message": "The server had an error", "type": "server_error"}, "overloaded"),
        ({"message": "boom", "code": "502"}, "overloaded"),
        ("something went wrong", "overloaded"),
        ({"message": "maximum context length is 8192 tokens"}, "context_overflow"),
        ({"message": "insufficient_quota"}, "billing"),
        ({"message": "flagged by the content filter"}, "content_filter"),
    ],
)
def test_an_error_in_the_middle_of_a_stream_has_its_own_kind(error: Any, kind: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        answer(piece(content="so far"), {"error": error})
    assert failed.value.kind == kind


def test_an_event_that_is_called_an_error_is_one_whatever_its_shape() -> None:
    reading = ChatReading(ask(), INTERPRETER)
    with pytest.raises(ModelFailed, match="too fast") as failed:
        list(reading.event(SseEvent("error", b'{"message": "too fast", "code": 429}')))
    assert failed.value.kind == "rate_limited"


def test_what_a_server_signs_its_calls_with_goes_back_with_them() -> None:
    signed = {"google": {"thought_signature": "s"}}
    events = (
        call("t", "{}", index=0, id="a", extra_content=signed),
        call("t", "{}", index=1, id="b"),
    )
    reply = answer(*events, piece("tool_calls"), DONE)[1]
    said = AssistantMessage("", reply.tool_calls, "", reply.opaque)
    sent = json.loads(encode(ask(UserMessage("x"), said), Options()))["messages"][2]["tool_calls"]
    assert [each.get("extra_content") for each in sent] == [signed, None]
    other = json.loads(encode(ask(said, model="other"), Options()))["messages"][1]["tool_calls"]
    assert [each.get("extra_content") for each in other] == [None, None]


def test_an_answer_that_came_at_once_is_taken_too() -> None:
    reading = ChatReading(ask(), INTERPRETER)
    function = {"name": "t", "arguments": "{}"}
    message = {"content": "hi", "tool_calls": [{"id": "a", "function": function}]}
    whole = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    deltas = list(reading.whole(json.dumps(whole).encode()))
    assert deltas == [TextDelta("hi"), ToolCallDelta(0, "{}", "a", "t")]
    assert reading.reply().tool_calls == (ToolCall("a", "t", "{}"),)


_PIECES = st.one_of(
    st.builds(lambda text: piece(content=text), st.text(max_size=5)),
    st.builds(
        lambda index, given, name, arguments: call(name, arguments, index=index, id=given),
        st.sampled_from([None, 0, 1, "x"]),
        st.sampled_from([None, "", "a", "b"]),
        st.sampled_from([None, "", "t", "u"]),
        st.sampled_from([None, "", "{", "}", "{}"]),
    ),
)


@given(st.lists(_PIECES, max_size=12))
def test_whatever_comes_the_ids_are_unlike_and_the_pieces_are_the_whole(events: list[Any]) -> None:
    ids = [each[0] for each in calls_of(*events, piece("stop"), DONE)]
    assert len(set(ids)) == len(ids)
    assert all(ids)
