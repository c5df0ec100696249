"""Anthropic's messages, as read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.models.anthropic.reading import MessageReading
from hermes_actors.ports import ModelFailed
from hermes_actors.values import (
    ModelReply,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from tests.adapters.models.talk import INTERPRETER, ask, reader

answer = reader(MessageReading)
STOP = {"type": "message_stop"}


def begin(index: int, **block: Any) -> Any:
    return {"type": "content_block_start", "index": index, "content_block": block}


def more(index: int, kind: str, **delta: Any) -> Any:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **delta}}


def end(index: int) -> Any:
    return {"type": "content_block_stop", "index": index}


def stopped(reason: str, **usage: int) -> Any:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def test_words_thoughts_and_calls_come_in_pieces_and_as_a_whole() -> None:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 4}
    deltas, reply = answer(
        {"type": "message_start", "message": {"usage": {**usage, "output_tokens": 1}}},
        {"type": "ping"},
        begin(0, type="thinking", thinking="", signature=""),
        more(0, "thinking_delta", thinking="h"),
        more(0, "thinking_delta", thinking="m"),
        more(0, "signature_delta", signature="sig"),
        end(0),
        begin(1, type="redacted_thinking", data="secret"),
        end(1),
        begin(2, type="text", text=""),
        more(2, "text_delta", text="Yes."),
        end(2),
        begin(3, type="tool_use", id="t1", name="terminal", input={}),
        more(3, "input_json_delta", partial_json=""),
        more(3, "input_json_delta", partial_json='{"a":'),
        more(3, "input_json_delta", partial_json="1}"),
        end(3),
        {"type": "something_new", "index": 4},
        stopped("tool_use", output_tokens=9),
        STOP,
    )
    assert deltas == [
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        TextDelta("Yes."),
        ToolCallDelta(0, "", "t1", "terminal"),
        ToolCallDelta(0, '{"a":'),
        ToolCallDelta(0, "1}"),
    ]
    thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    assert json.loads(reply.opaque) == {
        "wire": "anthropic",
        "layout": [
            thought,
            {"type": "redacted_thinking", "data": "secret"},
            {"type": "text", "length": 4},
            {"type": "tool_use"},
        ],
        "model": "m",
    }
    assert reply == ModelReply(
        text="Yes.",
        tool_calls=(ToolCall("t1", "terminal", '{"a":1}'),),
        finish_reason="tool_calls",
        usage=Usage(input=17, output=9, cache_read=10, cache_write=4),
        reasoning="hm",
        opaque=reply.opaque,
        model="m",
    )


def test_thoughts_that_led_to_no_call_are_not_kept() -> None:
    thought = begin(0, type="thinking", thinking="hm", signature="s")
    assert answer(thought, end(0), stopped("end_turn"), STOP)[1].opaque == ""


def test_arguments_that_come_with_the_beginning_of_a_call_are_taken() -> None:
    call = begin(0, type="tool_use", id="", name="t", input={"b": 1, "a": 2})
    reply = answer(call, end(0), stopped("tool_use"), STOP)[1]
    assert reply.tool_calls == (ToolCall("call_1_0", "t", '{"a":2,"b":1}'),)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
    ],
)
def test_every_reason_to_stop_has_one_of_four_meanings(said: str, meant: str) -> None:
    text = begin(0, type="text", text="x")
    assert answer(text, stopped(said), STOP)[1].finish_reason == meant


def test_an_answer_may_end_without_the_last_word_if_it_said_why_it_ends() -> None:
    assert answer(begin(0, type="text", text="x"), stopped("end_turn"))[1].text == "x"


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([begin(0, type="text", text="half")], "bad_reply"),
        ([], "bad_reply"),
        (["{"], "bad_reply"),
        ([{"type": "content_block_start", "index": "x"}], "bad_reply"),
        ([{"type": "error", "error": {"type": "overloaded_error"}}], "overloaded"),
        ([{"type": "error", "error": {"type": "rate_limit_error"}}], "rate_limited"),
        ([{"type": "error", "error": {"type": "api_error", "message": "oh"}}], "overloaded"),
        ([{"type": "error", "error": {"type": "authentication_error"}}], "unauthorized"),
        ([{"type": "error"}], "overloaded"),
    ],
)
def test_what_is_no_answer_is_refused_by_its_kind(events: list[Any], kind: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        answer(*events)
    assert failed.value.kind == kind


def test_an_answer_that_came_at_once_is_taken_too() -> None:
    reading = MessageReading(ask(), INTERPRETER)
    blocks = [
        {"type": "text", "text": "hi"},
        {"type": "tool_use", "id": "a", "name": "t", "input": {}},
    ]
    whole = {"content": blocks, "stop_reason": "tool_use", "usage": {"output_tokens": 2}}
    assert list(reading.whole(json.dumps(whole).encode())) == [
        TextDelta("hi"),
        ToolCallDelta(0, "", "a", "t"),
    ]
    assert reading.reply().tool_calls == (ToolCall("a", "t", "{}"),)
