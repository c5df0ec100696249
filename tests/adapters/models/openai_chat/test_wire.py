"""Chat completions, as written: whole bodies, and bytes that do not move."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given

from adapters.models.openai_chat.wire import encode
from adapters.models.options import Options
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from tests.adapters.models.talk import CONVERSATIONS, TERMINAL, ask


def body(*messages: Message, options: Options | None = None, **more: Any) -> Any:
    return json.loads(encode(ask(*messages, **more), options or Options()))


def test_a_conversation_with_tools_is_written_whole() -> None:
    call = ToolCall("c1", "terminal", '{ "command": "ls" }')
    sent = body(UserMessage("list"), AssistantMessage("", (call,)), ToolMessage("c1", "a.txt"))
    assert sent == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "function": {
                    "name": "terminal",
                    "description": "Run a command.",
                    "parameters": TERMINAL.parameters,
                },
                "type": "function",
            }
        ],
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "list"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "function": {"name": "terminal", "arguments": '{"command":"ls"}'},
                        "type": "function",
                    }
                ],
            },
            {"role": "tool", "content": "a.txt", "tool_call_id": "c1"},
        ],
    }


def test_what_is_not_set_is_not_sent() -> None:
    sent = body(system="", tools=())
    assert list(sent) == ["model", "stream", "stream_options", "messages"]


def test_the_wishes_of_the_owner_are_sent() -> None:
    wishes = Options(max_tokens=10, temperature=0.5, reasoning_effort="low", host="localhost")
    sent = body(options=wishes)
    assert (sent["max_tokens"], sent["temperature"], sent["reasoning_effort"]) == (10, 0.5, "low")
    assert body(options=wishes, max_output_tokens=5)["max_tokens"] == 5


def test_openai_itself_is_given_the_new_name_of_the_limit() -> None:
    sent = body(options=Options(max_tokens=10, host="api.openai.com"))
    assert sent["max_completion_tokens"] == 10
    assert "max_tokens" not in sent


def test_a_server_that_counts_unasked_is_not_asked() -> None:
    assert "stream_options" not in body(options=Options(host="api.mistral.ai"))


def test_thinking_goes_back_only_to_those_who_want_it() -> None:
    said = AssistantMessage("hi", reasoning="hm")
    assert "reasoning_content" not in body(said)["messages"][1]
    wanted = body(said, options=Options(host="api.deepseek.com"))["messages"][1]
    assert wanted["reasoning_content"] == "hm"


def test_an_assistant_that_said_nothing_is_left_out_and_a_blank_name_is_filled_in() -> None:
    nameless = AssistantMessage("", (ToolCall("c", "", '{"broken'),))
    sent = body(UserMessage("a"), AssistantMessage(), nameless)["messages"]
    assert [each["role"] for each in sent] == ["system", "user", "assistant"]
    function = sent[2]["tool_calls"][0]["function"]
    assert function == {"name": "invalid_tool_call", "arguments": "{}"}


def test_claude_behind_another_host_is_told_what_to_cache() -> None:
    host, call = Options(host="openrouter.ai"), ToolCall("c", "t", "{}")
    talk = (
        UserMessage("one"),
        AssistantMessage("two"),
        UserMessage("three"),
        AssistantMessage("", (call,)),
        ToolMessage("c", "four"),
    )
    sent = body(*talk, options=host, model="anthropic/claude-sonnet-4.5")["messages"]
    mark = {"type": "ephemeral"}
    marked = [
        each["content"][0]["text"]
        for each in sent
        if isinstance(each["content"], list) and each["content"][0]["cache_control"] == mark
    ]
    assert marked == ["Be kind.", "two", "three", "four"]
    for model, options in (("openai/gpt-5", host), ("claude-x", Options(host="localhost"))):
        plain = body(*talk, options=options, model=model)["messages"]
        assert not any(isinstance(each["content"], list) for each in plain)


@given(CONVERSATIONS)
def test_at_most_four_marks_are_set_and_none_without_words(messages: tuple[Message, ...]) -> None:
    request = ask(*messages, model="claude")
    written = encode(request, Options(host="openrouter.ai"))
    assert written.count(b'"cache_control"') <= 4
    assert b'"text":""' not in written


@given(CONVERSATIONS)
def test_the_same_conversation_is_the_same_bytes(messages: tuple[Message, ...]) -> None:
    request = ask(*messages)
    again = msgspec.json.decode(msgspec.json.encode(request), type=type(request))
    assert encode(request, Options()) == encode(again, Options())


@given(CONVERSATIONS, CONVERSATIONS)
def test_a_longer_conversation_begins_with_the_bytes_of_the_shorter_one(
    before: tuple[Message, ...], after: tuple[Message, ...]
) -> None:
    short = encode(ask(*before), Options())
    assert short.endswith(b"]}")
    assert encode(ask(*before, *after), Options()).startswith(short[:-2])
