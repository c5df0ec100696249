"""OpenAI's responses, as written."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given

from adapters.models.layout import Block, a_call, keep, words_of
from adapters.models.openai_responses.wire import WIRE, encode
from adapters.models.options import Options
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from tests.adapters.models.talk import CONVERSATIONS, TERMINAL, ask

CALL = ToolCall("c1", "terminal", '{ "command": "ls" }')
SEALED: Block = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}


def body(*messages: Message, options: Options | None = None, **more: Any) -> Any:
    return json.loads(encode(ask(*messages, **more), options or Options()))


def test_a_conversation_with_tools_is_written_whole() -> None:
    said = AssistantMessage("At once.", (CALL,), "hm", keep(WIRE, "m", [SEALED]))
    assert body(UserMessage("list"), said, ToolMessage("c1", "a.txt")) == {
        "model": "m",
        "stream": True,
        "store": False,
        "instructions": "Be kind.",
        "tools": [
            {
                "name": "terminal",
                "description": "Run a command.",
                "parameters": TERMINAL.parameters,
                "type": "function",
                "strict": False,
            }
        ],
        "input": [
            {"role": "user", "content": "list"},
            SEALED,
            {"role": "assistant", "content": "At once."},
            {
                "type": "function_call",
                "call_id": "c1",
                "name": "terminal",
                "arguments": '{"command":"ls"}',
            },
            {"type": "function_call_output", "call_id": "c1", "output": "a.txt"},
        ],
    }


@pytest.mark.parametrize(
    "opaque", ["", "{", keep("other", "m", [SEALED]), keep(WIRE, "x", [SEALED])]
)
def test_thinking_of_somebody_else_is_not_sent(opaque: str) -> None:
    said = AssistantMessage("", (CALL,), "", opaque)
    assert [each.get("type") for each in body(said)["input"]] == ["function_call"]


def test_sealed_thinking_goes_back_to_its_places() -> None:
    layout = [SEALED, words_of(2), SEALED, a_call()]
    said = AssistantMessage("ab", (CALL,), "", keep(WIRE, "m", layout))
    items = body(said)["input"]
    assert [each.get("type", each.get("role")) for each in items] == [
        "reasoning",
        "assistant",
        "reasoning",
        "function_call",
    ]


def test_sealed_thinking_is_asked_for_where_there_is_any() -> None:
    assert body(model="gpt-4o").get("include") is None
    assert body(model="o3")["include"] == ["reasoning.encrypted_content"]
    wish = body(options=Options(reasoning_effort="low"))
    assert wish["reasoning"] == {"effort": "low", "summary": "auto"}
    assert wish["include"] == ["reasoning.encrypted_content"]
    assert body(model="o3", options=Options(reasoning_effort="none")).get("include") is None


def test_limits_are_sent_and_foreign_ids_are_made_fit() -> None:
    call = ToolCall("functions.terminal:0", "terminal", "{}")
    sent = body(AssistantMessage("", (call,)), ToolMessage(call.id, "ok"), max_output_tokens=9)
    assert sent["max_output_tokens"] == 9
    assert sent["input"][0]["call_id"] == sent["input"][1]["call_id"]
    assert ":" not in sent["input"][0]["call_id"]


@given(CONVERSATIONS, CONVERSATIONS)
def test_bytes_are_the_same_each_time_and_a_prefix_of_what_follows(
    before: tuple[Message, ...], after: tuple[Message, ...]
) -> None:
    request = ask(*before)
    short = encode(request, Options())
    again = msgspec.json.decode(msgspec.json.encode(request), type=type(request))
    assert encode(again, Options()) == short
    assert encode(ask(*before, *after), Options()).startswith(short[:-2])
