"""The ordinary way through a run, and what happens to events that do not belong there."""

from __future__ import annotations

import pytest

from hermes_actors.pure.agent_loop import (
    EXPECTED,
    AgentLoop,
    AskModel,
    Begin,
    Compact,
    Compacted,
    CompactionRefused,
    Cut,
    End,
    Event,
    Keep,
    LoopLimits,
    ModelGaveUp,
    OutOfOrder,
    Phase,
    RunTools,
    Say,
    Steered,
)
from hermes_actors.pure.endings import OK
from hermes_actors.values import AssistantMessage, ToolMessage, Usage, UserMessage

from .steps import ASK, TOOLS, answers, begun, call, calls, end_of, kept, says, state_of


def test_words_end_the_run_and_are_said_once() -> None:
    loop = begun()
    answer = AssistantMessage("hello", reasoning="hm")
    assert loop.feed(says("hello", reasoning="hm")) == [
        Say("hello", "model"),
        Keep(answer),
        End(OK, "hello"),
    ]
    assert loop.history == (ASK, answer)
    assert loop.phase is Phase.ENDED


def test_thoughts_in_the_text_are_neither_said_nor_kept() -> None:
    effects = begun().feed(says("<think>secret</think>\nhello"))
    assert effects[0] == Say("hello", "model")
    assert "secret" not in repr(effects)


def test_the_call_is_kept_before_it_runs_and_its_result_after() -> None:
    loop = begun()
    wanted = AssistantMessage("let me see", (call(1),))
    result = ToolMessage("c1", "a tree")
    assert loop.feed(calls(call(1), text="let me see")) == [
        Say("let me see", "model"),
        Keep(wanted),
        RunTools((call(1),)),
    ]
    assert loop.feed(answers(1, "a tree")) == [Keep(result), AskModel((ASK, wanted, result))]
    assert end_of(loop.feed(says("a tree!"))) == End(OK, "a tree!")
    assert loop.iterations == 2


def test_tokens_are_added_up() -> None:
    loop = begun()
    loop.feed(calls(call(1)))
    loop.feed(answers(1))
    loop.feed(says("x", usage=Usage(10, 5, 3)))
    assert loop.usage == Usage(10, 5, 3)


EVENTS: tuple[Event, ...] = (
    Begin(),
    says("x"),
    ModelGaveUp("timeout"),
    answers(1),
    Steered("x"),
    Compacted((ASK,)),
    CompactionRefused(),
    Cut("user_stop"),
)


def in_phase(phase: Phase) -> AgentLoop:
    limits = LoopLimits(max_iterations=1, compact_at=10**6)
    match phase:
        case Phase.READY:
            return AgentLoop((ASK,), TOOLS)
        case Phase.COMPACTING:
            loop = AgentLoop((UserMessage("x" * 9_000_000),), TOOLS, limits)
            assert isinstance(loop.feed(Begin())[0], Compact)
            return loop
    loop = begun(limits)
    if phase in (Phase.ACTING, Phase.WRAPPING):
        loop.feed(calls(call(1)))
    if phase is Phase.WRAPPING:
        loop.feed(answers(1))
    if phase is Phase.ENDED:
        loop.feed(says("done"))
    return loop


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_what_the_table_does_not_know_raises_and_changes_nothing(
    phase: Phase, event: Event
) -> None:
    loop = in_phase(phase)
    assert loop.phase is phase
    before = state_of(loop)
    if isinstance(event, EXPECTED[phase]):
        loop.feed(event)
        assert state_of(loop) != before
    else:
        with pytest.raises(OutOfOrder, match=f"{type(event).__name__} while {phase.value}"):
            loop.feed(event)
        assert state_of(loop) == before


@pytest.mark.parametrize("number", [2, "x", ""])
def test_a_result_that_nobody_waits_for_raises_and_changes_nothing(number: int | str) -> None:
    loop = begun()
    loop.feed(calls(call(1), call(2)))  # one after the other: the second does not run yet
    before = state_of(loop)
    with pytest.raises(OutOfOrder, match="not running"):
        loop.feed(answers(number))
    assert state_of(loop) == before
    assert kept(loop.feed(answers(1))) == [ToolMessage("c1", "seen")]


def test_a_second_result_for_one_call_raises_and_changes_nothing() -> None:
    loop = begun()
    loop.feed(calls(call(1, "web_search"), call(2, "web_search")))
    loop.feed(answers(2))
    before = state_of(loop)
    with pytest.raises(OutOfOrder):
        loop.feed(answers(2, "again"))
    assert state_of(loop) == before


def test_a_run_cannot_be_cut_with_the_reason_that_it_completed() -> None:
    loop = begun()
    before = state_of(loop)
    with pytest.raises(OutOfOrder, match="'ok'"):
        loop.feed(Cut("ok"))
    assert state_of(loop) == before


def test_every_phase_but_the_last_can_be_cut_and_steered() -> None:
    for phase, events in EXPECTED.items():
        assert ({Steered, Cut} <= set(events)) is (phase is not Phase.ENDED)
