"""A history that was cut is closed: open calls are answered, half a sentence is kept and marked."""

from __future__ import annotations

import random

import pytest

from hermes_actors.pure.transcript import (
    DIALECTS,
    UNKNOWN_EFFECT,
    Dialect,
    open_calls,
    repair,
    seal,
    validate,
)
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

from .histories import random_history

A, B = ToolCall("a", "look", "{}"), ToolCall("b", "look", "{}")
ASK, STOPPED = UserMessage("look around"), AssistantMessage("[stopped]")
LOOK = AssistantMessage("", (A, B))


@pytest.mark.parametrize(
    ("history", "partial", "added"),
    [
        ((), "", ()),
        ((ASK,), "", (STOPPED,)),
        ((ASK,), "There is a tr", (AssistantMessage("There is a tr [stopped]"),)),
        ((ASK,), " \n", (STOPPED,)),
        ((ASK, LOOK), "", (ToolMessage("a", "[stopped]"), ToolMessage("b", "[stopped]"), STOPPED)),
        ((ASK, LOOK, ToolMessage("a", "x")), "", (ToolMessage("b", "[stopped]"), STOPPED)),
        ((ASK, LOOK, ToolMessage("a", "x"), ToolMessage("b", "y")), "", (STOPPED,)),
        ((ASK, AssistantMessage("done")), "", ()),
    ],
)
def test_what_is_open_is_closed(
    history: tuple[Message, ...], partial: str, added: tuple[Message, ...]
) -> None:
    assert seal(history, partial) == history + added
    assert seal(history + added) == history + added


def test_what_is_known_about_a_call_is_told() -> None:
    sealed = seal((ASK, LOOK), results={"b": UNKNOWN_EFFECT})
    assert sealed[2:4] == (ToolMessage("a", "[stopped]"), ToolMessage("b", UNKNOWN_EFFECT))


def test_open_calls_are_those_at_the_end_without_a_result() -> None:
    assert open_calls((ASK, LOOK, ToolMessage("b", "x"))) == (A,)
    assert open_calls((ASK,)) == open_calls(()) == ()


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
def test_a_valid_history_cut_anywhere_takes_the_next_message_after_the_seal(
    dialect: Dialect,
) -> None:
    dice = random.Random(7)
    for _ in range(2000):
        whole = repair((ASK, *random_history(dice)), DIALECTS["anthropic"])
        whole = repair(repair(whole, DIALECTS["openai_chat"]), dialect)
        cut = whole[: dice.randint(1, len(whole))]
        waits = isinstance(cut[-1], UserMessage | ToolMessage)
        sealed = seal(cut, "half a sen" if waits and dice.random() < 0.5 else "")
        assert validate((*sealed, UserMessage("and now?")), dialect) == ()
