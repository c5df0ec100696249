"""Anthropic's messages, as written."""

from __future__ import annotations

import itertools
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given

from adapters.models.anthropic.thinking import WIRE, adaptive
from adapters.models.anthropic.wire import encode
from adapters.models.layout import Block, a_call, keep, words_of
from adapters.models.options import Options
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from tests.adapters.models.talk import CONVERSATIONS, TERMINAL, ask

MARK = {"type": "ephemeral"}
THINKS = Options(reasoning_effort="medium")
THOUGHT: Block = {"type": "thinking", "thinking": "hm", "signature": "s"}
CALL = ToolCall("c1", "terminal", '{"command": "ls"}')


def body(*messages: Message, options: Options | None = None, **more: Any) -> Any:
    return json.loads(encode(ask(*messages, **more), options or Options()))


def unmarked(value: Any) -> Any:
    """The same without the marks, which move; what is cached is what they mark."""
    if isinstance(value, dict):
        return {key: unmarked(each) for key, each in value.items() if key != "cache_control"}
    return [unmarked(each) for each in value] if isinstance(value, list) else value


def test_a_conversation_with_tools_is_written_whole() -> None:
    sent = body(
        UserMessage("list"),
        AssistantMessage("At once. ", (CALL,)),
        ToolMessage("c1", "a.txt"),
        UserMessage("and now?"),
    )
    tool = {
        "name": "terminal",
        "description": "Run a command.",
        "input_schema": TERMINAL.parameters,
    }
    assert sent == {
        "model": "m",
        "max_tokens": 8192,
        "stream": True,
        "tools": [tool],
        "system": [{"type": "text", "text": "Be kind.", "cache_control": MARK}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "list", "cache_control": MARK}],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "At once."},
                    {
                        "type": "tool_use",
                        "id": "c1",
                        "name": "terminal",
                        "input": {"command": "ls"},
                        "cache_control": MARK,
                    },
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "a.txt"},
                    {"type": "text", "text": "and now?", "cache_control": MARK},
                ],
            },
        ],
    }


@given(CONVERSATIONS)
def test_roles_alternate_nothing_is_blank_and_at_most_four_marks_are_set(
    messages: tuple[Message, ...],
) -> None:
    written = encode(ask(*messages), Options())
    sent = json.loads(written)
    roles = [each["role"] for each in sent["messages"]]
    assert all(before != after for before, after in itertools.pairwise(roles))
    assert written.count(b'"cache_control"') <= 4
    for block in (block for each in sent["messages"] for block in each["content"]):
        assert block.get("text", block.get("content", "x")).strip()


@given(CONVERSATIONS)
def test_the_same_conversation_is_the_same_bytes(messages: tuple[Message, ...]) -> None:
    request = ask(*messages)
    again = msgspec.json.decode(msgspec.json.encode(request), type=type(request))
    assert encode(request, THINKS) == encode(again, THINKS)


@given(CONVERSATIONS)
def test_a_longer_conversation_begins_with_the_blocks_of_the_shorter_one(
    messages: tuple[Message, ...],
) -> None:
    def blocks(sent: Any) -> list[Any]:
        return [block for each in unmarked(sent["messages"]) for block in each["content"]]

    short = body(*messages)
    longer = body(*messages, UserMessage("more"), AssistantMessage("yes"))
    assert blocks(longer)[: len(blocks(short))] == blocks(short)
    head = [key for key in short if key != "messages"]
    assert [short[key] for key in head] == [longer[key] for key in head]


def test_without_a_system_prompt_the_tools_are_marked() -> None:
    assert body(system=" ")["tools"][-1]["cache_control"] == MARK


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("claude-3-haiku-20240307", 4096),
        ("claude-3-5-sonnet-latest", 8192),
        ("claude-opus-4-1", 32_000),
        ("other", 8192),
    ],
)
def test_the_limit_that_must_be_sent_fits_the_model(model: str, most: int) -> None:
    assert body(model=model)["max_tokens"] == most
    assert body(model=model, options=Options(max_tokens=7))["max_tokens"] == 7


def test_thinking_has_a_budget_inside_the_limit_and_no_temperature() -> None:
    sent = body(options=Options(reasoning_effort="high", temperature=0.3, max_tokens=10_000))
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 5000}
    assert "temperature" not in sent
    assert "thinking" not in body(options=Options(reasoning_effort="high", max_tokens=1000))
    assert "thinking" not in body(options=Options(reasoning_effort="none"))


def test_signed_thoughts_go_back_unchanged_before_the_calls_they_led_to() -> None:
    said = AssistantMessage("", (CALL,), "hm", keep(WIRE, "m", [THOUGHT]))
    sent = body(UserMessage("a"), said, ToolMessage("c1", "ok"), options=THINKS)
    assert sent["messages"][1]["content"][0] == THOUGHT
    assert "thinking" in sent


@pytest.mark.parametrize(
    "opaque", ["", "{", keep("other", "m", [THOUGHT]), keep(WIRE, "x", [THOUGHT])]
)
def test_thinking_stays_off_while_the_thoughts_before_a_call_are_not_at_hand(opaque: str) -> None:
    said = AssistantMessage("", (CALL,), "hm", opaque)
    asked = (UserMessage("a"), said, ToolMessage("c1", "ok"))
    assert "thinking" not in body(*asked, options=THINKS)
    assert [each["type"] for each in body(*asked)["messages"][1]["content"]] == ["tool_use"]
    assert "thinking" in body(*asked, UserMessage("next"), options=THINKS)


def test_thoughts_between_words_and_calls_keep_their_places() -> None:
    layout = [THOUGHT, words_of(2), THOUGHT, a_call()]
    said = AssistantMessage("a ", (CALL,), "hm", keep(WIRE, "m", layout))
    kinds = [each["type"] for each in body(said)["messages"][0]["content"]]
    assert kinds == ["thinking", "text", "thinking", "tool_use"]
    changed = AssistantMessage("other words", (CALL,), "hm", keep(WIRE, "m", layout))
    kinds = [each["type"] for each in body(changed)["messages"][0]["content"]]
    assert kinds == ["thinking", "thinking", "text", "tool_use"]


@pytest.mark.parametrize(
    ("model", "chooses"),
    [
        ("claude-3-7-sonnet-20250219", False),
        ("claude-sonnet-4-20250514", False),
        ("claude-opus-4-1", False),
        ("claude-haiku-4-5-20251001", False),
        ("claude-opus-4-6", True),
        ("anthropic/claude-sonnet-4.6", True),
        ("claude-sonnet-5", True),
        ("claude-sonnet-5-20261001", True),
        ("claude-mythos-preview", True),
        ("claude-latest", False),
        ("kimi-k2-6", False),
    ],
)
def test_newer_models_choose_how_much_to_think_and_older_ones_are_told(
    model: str, chooses: bool
) -> None:
    assert adaptive(model) is chooses
    sent = body(model=model, options=THINKS)
    assert sent["thinking"]["type"] == ("adaptive" if chooses else "enabled")
    assert sent.get("output_config") == ({"effort": "medium"} if chooses else None)
    assert "thinking" not in body(model=model, options=Options(reasoning_effort="none"))


def test_foreign_ids_and_broken_arguments_are_made_fit() -> None:
    call = ToolCall("functions.terminal:0", "", '{"broken')
    sent = body(AssistantMessage("", (call,)), ToolMessage(call.id, " "))["messages"]
    used, result = sent[0]["content"][0], sent[1]["content"][0]
    assert used["id"] == result["tool_use_id"]
    assert used["id"].startswith("call_")
    assert (used["name"], used["input"]) == ("invalid_tool_call", {})
    assert result["content"] == "(no text)"
