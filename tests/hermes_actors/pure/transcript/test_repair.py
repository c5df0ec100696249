"""Whatever happened to a history, after repair a provider takes it and the words are there.

The slow test tries some thousands of random histories per dialect; HERMES_MANY_HISTORIES=100000
makes it try that many, in about 20 seconds each.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import given, settings

from hermes_actors.pure.transcript import (
    ANTHROPIC,
    DIALECTS,
    OPENAI_CHAT,
    OPENAI_RESPONSES,
    Dialect,
    repair,
    validate,
)
from hermes_actors.pure.transcript.repair import EARLIER, UNREADABLE
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

from .histories import histories, random_history

MANY = int(os.environ.get("HERMES_MANY_HISTORIES", "8000"))
A, B = ToolCall("a", "look", "{}"), ToolCall("b", "look", "{}")
ASK, HI = UserMessage("look around"), AssistantMessage("hello")
LOOK = AssistantMessage("", (A, B))
SEEN_A, SEEN_B = ToolMessage("a", "a tree"), ToolMessage("b", "a bee")
STOPPED_A, STOPPED_B = ToolMessage("a", "[stopped]"), ToolMessage("b", "[stopped]")
ALL = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
History = tuple[Message, ...]


@ALL
@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ((ASK, LOOK), (ASK, LOOK, STOPPED_A, STOPPED_B)),
        ((ASK, LOOK, SEEN_B), (ASK, LOOK, STOPPED_A, SEEN_B)),
        ((ASK, LOOK, SEEN_B, SEEN_A), (ASK, LOOK, SEEN_A, SEEN_B)),
        ((ASK, LOOK, SEEN_A, SEEN_A, SEEN_B), (ASK, LOOK, SEEN_A, SEEN_B)),
        ((ASK, SEEN_A, HI), (ASK, HI)),
        ((ASK, AssistantMessage(" "), UserMessage("")), (ASK,)),
        ((UserMessage("\ud800!"),), (UserMessage("\ufffd!"),)),
    ],
)
def test_calls_and_results_find_each_other(
    dialect: Dialect, broken: History, mended: History
) -> None:
    assert repair(broken, dialect) == mended


def test_a_result_that_came_late_is_brought_back_to_its_call() -> None:
    late = (ASK, AssistantMessage("", (A,)), UserMessage("hurry"), SEEN_A, HI)
    assert repair(late, ANTHROPIC) == (
        ASK,
        AssistantMessage("", (A,)),
        SEEN_A,
        UserMessage("hurry"),
        HI,
    )


def test_a_message_after_a_cut_run_finds_the_run_closed() -> None:
    assert repair((ASK, LOOK, UserMessage("and now?")), OPENAI_CHAT) == (
        ASK,
        LOOK,
        STOPPED_A,
        STOPPED_B,
        AssistantMessage("[stopped]"),
        UserMessage("and now?"),
    )


def test_neighbours_of_one_side_are_joined_and_no_word_is_lost() -> None:
    history = (ASK, UserMessage("now"), HI, AssistantMessage("again", (A,)), SEEN_A)
    joined = (
        UserMessage("look around\n\nnow"),
        AssistantMessage("hello\nagain", (A,)),
        SEEN_A,
    )
    assert repair(history, OPENAI_CHAT) == repair(history, ANTHROPIC) == joined
    assert repair(history, OPENAI_RESPONSES) == history


def test_a_history_that_begins_with_the_model_gets_a_person_first_where_that_is_needed() -> None:
    assert repair((HI, ASK), ANTHROPIC) == (UserMessage(EARLIER), HI, ASK)
    assert repair((HI, ASK), OPENAI_CHAT) == (HI, ASK)


def test_ids_that_come_twice_become_different_and_keep_their_results() -> None:
    twice = (ASK, AssistantMessage("", (A, A)), SEEN_A, ToolMessage("a", "second"))
    assert repair(twice, OPENAI_CHAT) == (
        ASK,
        AssistantMessage("", (A, ToolCall("a_2", "look", "{}"))),
        SEEN_A,
        ToolMessage("a_2", "second"),
    )


def test_a_new_id_never_meets_one_that_is_still_to_come() -> None:
    again, later = (
        AssistantMessage("", (A,)),
        AssistantMessage("", (ToolCall("a_2", "look", "{}"),)),
    )
    history = (ASK, again, SEEN_A, again, SEEN_A, later, ToolMessage("a_2", "x"))
    mended = repair(history, OPENAI_CHAT)
    ids = [each.call_id for each in mended if isinstance(each, ToolMessage)]
    assert ids == ["a", "a_3", "a_2"]


def test_arguments_that_cannot_be_read_are_left_out_and_the_model_is_told() -> None:
    broken = AssistantMessage("", (ToolCall("a", "look", '{"at": '), ToolCall("b", "look", "")))
    mended = repair((ASK, broken, SEEN_A, SEEN_B), OPENAI_CHAT)
    assert mended == (ASK, LOOK, ToolMessage("a", f"{UNREADABLE}\na tree"), SEEN_B)


def test_what_a_provider_wants_back_stays_with_its_message() -> None:
    sealed = AssistantMessage("", (A,), "hm", "sealed")
    assert repair((ASK, sealed), OPENAI_CHAT) == (ASK, sealed, STOPPED_A)
    joined = repair((ASK, HI, sealed), OPENAI_CHAT)[1]
    assert joined == AssistantMessage("hello", (A,), "hm", "sealed")


def test_an_id_of_another_provider_becomes_one_that_is_allowed() -> None:
    call = AssistantMessage("", (ToolCall("functions.look:0", "look", "{}"),))
    mended = repair((ASK, call, ToolMessage("functions.look:0", "x")), ANTHROPIC)
    assert mended == (
        ASK,
        AssistantMessage("", (ToolCall("functionslook0_2", "look", "{}"),)),
        ToolMessage("functionslook0_2", "x"),
    )


def check(history: History, dialect: Dialect) -> None:
    mended = repair(history, dialect)
    assert validate(mended, dialect) == ()
    assert repair(mended, dialect) == mended
    if not validate(history, dialect):
        assert mended == history
    assert people_said(mended, history)


def people_said(mended: History, history: History) -> bool:
    """Every word of a person is still there, in order."""
    wanted = [each.text for each in history if isinstance(each, UserMessage) and each.text.strip()]
    there = "\n\n".join(each.text for each in mended if isinstance(each, UserMessage))
    at = 0
    for text in wanted:
        at = there.find(text.replace("\ud800", "\ufffd"), at)
        if at < 0:
            return False
        at += len(text)
    return True


@ALL
@settings(max_examples=250)
@given(history=histories)
def test_any_history_is_valid_after_repair(dialect: Dialect, history: History) -> None:
    check(history, dialect)


@ALL
def test_random_histories_are_valid_after_repair(dialect: Dialect) -> None:
    dice = random.Random(dialect.name)
    found = [random_history(dice) for _ in range(1500)]
    for history in found:
        check(history, dialect)
    valid = sum(not validate(history, dialect) for history in found)
    assert 100 < valid < 1200  # both kinds have been tried


@ALL
@pytest.mark.slow
def test_many_random_histories_are_valid_after_repair(dialect: Dialect) -> None:
    dice = random.Random(f"many {dialect.name}")
    for _ in range(MANY):
        check(random_history(dice), dialect)
