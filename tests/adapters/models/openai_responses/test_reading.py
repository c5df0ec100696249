"""OpenAI's responses, as read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapters.models.openai_responses.reading import ResponseReading
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

answer = reader(ResponseReading)
SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}


def event(kind: str, **more: Any) -> Any:
    return {"type": f"response.{kind}", **more}


def completed(**more: Any) -> Any:
    return event("completed", response={"status": "completed", **more})


def call(**more: Any) -> Any:
    return {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "t", **more}


def test_words_thoughts_and_calls_come_in_pieces_and_as_a_whole() -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 5,
        "input_tokens_details": {"cached_tokens": 8},
        "output_tokens_details": {"reasoning_tokens": 3},
    }
    deltas, reply = answer(
        event("created", response={"status": "in_progress"}),
        event("output_item.added", output_index=0, item={"type": "reasoning", "id": "rs_1"}),
        event("reasoning_summary_text.delta", output_index=0, delta="hm"),
        event("output_item.done", output_index=0, item={**SEALED, "status": "completed"}),
        event("output_item.added", output_index=1, item={"type": "message"}),
        event("output_text.delta", output_index=1, delta="Yes."),
        event("output_item.done", output_index=1, item={"type": "message"}),
        event("output_item.added", output_index=2, item=call(arguments="")),
        event("function_call_arguments.delta", output_index=2, delta='{"a":'),
        event("function_call_arguments.delta", output_index=2, delta="1}"),
        event("output_item.done", output_index=2, item=call(arguments='{"a":1}')),
        completed(usage=usage, output=[{"type": "message", "content": [{"text": "Yes."}]}]),
    )
    assert deltas == [
        ReasoningDelta("hm"),
        TextDelta("Yes."),
        ToolCallDelta(0, "", "c1", "t"),
        ToolCallDelta(0, '{"a":'),
        ToolCallDelta(0, "1}"),
    ]
    assert json.loads(reply.opaque) == {
        "wire": "openai_responses",
        "model": "m",
        "layout": [SEALED, {"type": "text", "length": 4}, {"type": "tool_use"}],
    }
    assert reply == ModelReply(
        text="Yes.",
        tool_calls=(ToolCall("c1", "t", '{"a":1}'),),
        finish_reason="tool_calls",
        usage=Usage(input=10, output=5, cache_read=8, reasoning=3),
        reasoning="hm",
        opaque=reply.opaque,
        model="m",
    )


def test_a_call_that_is_only_shown_when_it_is_whole_is_taken() -> None:
    done = event("output_item.done", output_index=0, item=call(arguments='{"a":1}'))
    assert answer(done, completed())[1].tool_calls == (ToolCall("c1", "t", '{"a":1}'),)


def test_an_answer_that_is_only_shown_when_it_is_whole_is_taken() -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}
    deltas, reply = answer(completed(output=[SEALED, message, call(arguments="{}")]))
    assert deltas == [TextDelta("hi"), ToolCallDelta(0, "{}", "c1", "t")]
    assert reply.finish_reason == "tool_calls"
    assert '"length":2' in reply.opaque
    reading = ResponseReading(ask(), INTERPRETER)
    assert list(reading.whole(json.dumps({"output": [message]}).encode())) == [TextDelta("hi")]


@pytest.mark.parametrize(
    ("reason", "meant"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter"), (None, "length")],
)
def test_an_incomplete_answer_says_why(reason: str | None, meant: str) -> None:
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": reason}}
    text = event("output_text.delta", delta="half")
    reply = answer(text, event("incomplete", response=incomplete))[1]
    assert (reply.text, reply.finish_reason) == ("half", meant)


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([event("output_text.delta", delta="half")], "bad_reply"),
        ([], "bad_reply"),
        (["{"], "bad_reply"),
        (["[DONE]"], "bad_reply"),
        ([event("failed", response={"error": {"code": "server_error"}})], "overloaded"),
        ([event("failed", response={"error": {"code": "rate_limit_exceeded"}})], "rate_limited"),
        ([event("failed")], "overloaded"),
        ([{"type": "error", "code": "context_length_exceeded"}], "context_overflow"),
        ([{"type": "error", "error": {"message": "insufficient_quota"}}], "billing"),
    ],
)
def test_what_is_no_answer_is_refused_by_its_kind(events: list[Any], kind: str) -> None:
    with pytest.raises(ModelFailed) as failed:
        answer(*events)
    assert failed.value.kind == kind
