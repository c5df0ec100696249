"""What the demo model understands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.models.demo.script import perform
from hermes_actors.values import (
    AssistantMessage,
    Message,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from tests.adapters.models.talk import TERMINAL, ask

TEXT = {"type": "string"}
READ_FILE = ToolSpec(
    "read_file",
    "",
    {"properties": {"limit": {"type": "integer"}, "path": TEXT}, "required": ["path"]},
)
WRITE_FILE = ToolSpec(
    "write_file",
    "",
    {"properties": {"path": TEXT, "content": TEXT}, "required": ["path", "content"]},
)
TOOLS = (TERMINAL, READ_FILE, WRITE_FILE)


def answer(*messages: Message | str, tools: tuple[ToolSpec, ...] = TOOLS) -> str:
    asked = [UserMessage(each) if isinstance(each, str) else each for each in messages]
    deltas = [beat.delta for beat in perform(ask(*asked, tools=tools))]
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def calls(text: str, tools: tuple[ToolSpec, ...] = TOOLS) -> list[tuple[str | None, Any]]:
    deltas = [beat.delta for beat in perform(ask(UserMessage(text), tools=tools))]
    found = [delta for delta in deltas if isinstance(delta, ToolCallDelta)]
    return [(delta.name, json.loads(delta.arguments)) for delta in found]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("use the terminal tool to run `ls -l`", [("terminal", {"command": "ls -l"})]),
        ("Please call terminal with “ls”", [("terminal", {"command": "ls"})]),
        ("run `echo hi`", [("terminal", {"command": "echo hi"})]),
        ("use read_file on 'a.txt'", [("read_file", {"path": "a.txt"})]),
        (
            'use read_file with {"path": "a", "limit": 3}',
            [("read_file", {"path": "a", "limit": 3})],
        ),
        ("use write_file on `a` with `b c`", [("write_file", {"path": "a", "content": "b c"})]),
        ("call terminal", [("terminal", {})]),
        (
            "use the read_file tool on `a` and the read_file tool on `b`, then run terminal `c`",
            [
                ("read_file", {"path": "a"}),
                ("read_file", {"path": "b"}),
                ("terminal", {"command": "c"}),
            ],
        ),
        ("the terminal is a fine thing", []),
        ("use the browser tool", []),
        ("hello", []),
    ],
)
def test_tools_are_called_when_asked_for_in_plain_words(text: str, wanted: list[Any]) -> None:
    assert calls(text) == wanted


def test_calls_of_one_answer_and_of_later_ones_have_ids_of_their_own() -> None:
    first = [beat.delta for beat in perform(ask(UserMessage("call terminal and read_file")))]
    later = perform(ask(UserMessage("a"), AssistantMessage("b"), UserMessage("call terminal")))
    ids = [
        each.id
        for each in [*first, *(beat.delta for beat in later)]
        if isinstance(each, ToolCallDelta)
    ]
    assert ids == ["demo_1_0", "demo_3_0"]


def test_without_tools_nothing_is_called_and_the_missing_one_is_named() -> None:
    assert calls("run `ls`", tools=()) == []
    words = answer("use the terminal tool to run `ls`", tools=())
    assert "no tool called “terminal”" in words
    assert "Offered: none" in words


def test_results_of_tools_are_shown() -> None:
    called = AssistantMessage("", (ToolCall("a", "t", "{}"), ToolCall("b", "t", "{}")))
    words = answer("x", called, ToolMessage("a", "one"), ToolMessage("b", "two"))
    assert words.index("one") < words.index("two")
    assert "demo model" in words


def test_it_counts_at_the_wanted_speed() -> None:
    quick = [beat.pause for beat in perform(ask(UserMessage("count to 20")))]
    slow = [beat.pause for beat in perform(ask(UserMessage("Count slowly to 100, please")))]
    assert (len(quick), len(slow)) == (21, 101)
    assert sum(quick) < 1 < 100 < sum(slow)
    assert answer("count to 3").startswith("1 2 3 ")
    assert len(answer("count to 999999").split()) < 1010


def test_it_says_what_it_is_told_to_say_and_what_it_is() -> None:
    assert answer("say  hello there") == "hello there"
    assert "demo model" in answer("How are you?")
    assert "demo model" in answer("")
    assert "demo model" in answer("count to 2")


def test_it_can_pretend_to_think() -> None:
    deltas = [beat.delta for beat in perform(ask(UserMessage("think about lunch")))]
    assert isinstance(deltas[0], ReasoningDelta)
    assert isinstance(deltas[-1], TextDelta)


def test_long_words_are_not_repeated_whole() -> None:
    assert len(answer("x" * 100_000)) < 2000
    assert len(answer("x", ToolMessage("a", "y" * 100_000))) < 2000


@given(st.text(max_size=60))
def test_whatever_is_said_there_is_an_answer_and_always_the_same(text: str) -> None:
    request = ask(UserMessage(text), tools=TOOLS)
    assert list(perform(request)) == list(perform(request)) != []
