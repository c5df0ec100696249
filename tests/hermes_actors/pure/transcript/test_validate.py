"""Every way in which a history can be unfit has a name and a place."""

from __future__ import annotations

import pytest

from hermes_actors.pure.transcript import (
    ANTHROPIC,
    DIALECTS,
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    Dialect,
    Problem,
    validate,
)
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

A, B = ToolCall("a", "look", "{}"), ToolCall("b", "look", '{"at": 1}')
ASK, HI = UserMessage("look around"), AssistantMessage("hello")
LOOK = AssistantMessage("", (A, B))
SEEN_A, SEEN_B = ToolMessage("a", "a tree"), ToolMessage("b", "")
ALL = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
Faults = list[tuple[int, str, str]]


def faults(history: tuple[Message, ...], dialect: Dialect) -> Faults:
    return [(each.index, each.fault, each.detail) for each in validate(history, dialect)]


@ALL
@pytest.mark.parametrize(
    "history",
    [
        (),
        (ASK,),
        (ASK, HI),
        (ASK, HI, ASK),
        (ASK, LOOK, SEEN_A, SEEN_B),
        (ASK, LOOK, SEEN_A, SEEN_B, HI, ASK),
        (ASK, AssistantMessage("let me see", (A,)), SEEN_A, AssistantMessage("", (B,)), SEEN_B),
    ],
)
def test_an_ordinary_history_has_no_problems(
    dialect: Dialect, history: tuple[Message, ...]
) -> None:
    assert validate(history, dialect) == ()


@ALL
@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ((ASK, LOOK), [(1, "unanswered_call", "a"), (1, "unanswered_call", "b")]),
        ((ASK, LOOK, SEEN_A), [(2, "unanswered_call", "b")]),
        ((ASK, LOOK, SEEN_B, SEEN_A), [(2, "result_out_of_order", "b")]),
        ((ASK, LOOK, SEEN_A, SEEN_B, SEEN_B), [(4, "orphan_result", "b")]),
        ((ASK, SEEN_A), [(1, "orphan_result", "a")]),
        ((ASK, LOOK, SEEN_A, SEEN_B, HI, ASK, SEEN_A), [(6, "orphan_result", "a")]),
        (
            (ASK, LOOK, SEEN_A, SEEN_B, AssistantMessage("", (A,)), SEEN_A),
            [(4, "repeated_call_id", "a")],
        ),
        (
            (ASK, AssistantMessage("", (ToolCall("", "look", "{}"),)), ToolMessage("", "x")),
            [(1, "bad_call_id", "")],
        ),
        (
            (ASK, AssistantMessage("", (ToolCall("a", "no such", "{}"),)), SEEN_A),
            [(1, "bad_tool_name", "a")],
        ),
        (
            (ASK, AssistantMessage("", (ToolCall("a", "look", "[1]"),)), SEEN_A),
            [(1, "bad_arguments", "a")],
        ),
        ((ASK, AssistantMessage(" ")), [(1, "empty", "")]),
        ((ASK, AssistantMessage(reasoning="hm")), [(1, "empty", "")]),
        ((UserMessage("\n"),), [(0, "empty", "")]),
        ((UserMessage("\ud800"),), [(0, "not_encodable", "")]),
    ],
)
def test_each_fault_is_named_with_its_place(
    dialect: Dialect, history: tuple[Message, ...], expected: Faults
) -> None:
    assert faults(history, dialect) == expected


def test_only_one_dialect_wants_a_person_first() -> None:
    assert faults((HI,), ANTHROPIC) == [(0, "not_user_first", "")]
    assert faults((HI,), OPENAI_CHAT) == faults((HI,), OPENAI_RESPONSES) == []


def test_two_of_one_side_in_a_row_are_refused_where_sides_alternate() -> None:
    for history in ((ASK, ASK), (ASK, HI, HI)):
        last = len(history) - 1
        assert validate(history, OPENAI_CHAT) == (Problem(last, "same_side_twice"),)
        assert validate(history, ANTHROPIC) == (Problem(last, "same_side_twice"),)
        assert validate(history, OPENAI_RESPONSES) == ()


def test_after_results_the_model_speaks_before_a_person_does_in_chat() -> None:
    history = (ASK, LOOK, SEEN_A, SEEN_B, ASK)
    assert faults(history, OPENAI_CHAT) == [(4, "user_after_tool", "")]
    assert faults(history, ANTHROPIC) == faults(history, OPENAI_RESPONSES) == []


@pytest.mark.parametrize(
    ("call_id", "bad_in"),
    [
        ("x:1", ["anthropic"]),
        ("functions.look:0", ["anthropic"]),
        ("x" * 40, []),
        ("x" * 41, ["openai_chat"]),
        ("x" * 65, ["openai_chat", "openai_responses", "anthropic"]),
        ("a b", ["openai_chat", "openai_responses", "anthropic"]),
    ],
)
def test_ids_have_to_fit_the_dialect(call_id: str, bad_in: list[str]) -> None:
    history = (ASK, AssistantMessage("", (ToolCall(call_id, "look", "{}"),)))
    history_done = (*history, ToolMessage(call_id, "x"))
    assert [name for name, each in DIALECTS.items() if validate(history_done, each)] == bad_in


@pytest.mark.parametrize(
    "arguments",
    ["", "{", "[]", "NaN", '{"a": NaN}', '{"a": "\\ud800"}', "[" * 99_999, f'{{"a":{"9" * 5000}}}'],
)
def test_arguments_that_some_reader_would_refuse_are_refused(arguments: str) -> None:
    call = AssistantMessage("", (ToolCall("a", "look", arguments),))
    assert faults((ASK, call, SEEN_A), OPENAI_CHAT) == [(1, "bad_arguments", "a")]
