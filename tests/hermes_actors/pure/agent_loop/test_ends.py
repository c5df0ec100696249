"""Every end of a run has words, one terminal state, and a transcript that is closed."""

from __future__ import annotations

import pytest

from hermes_actors.pure.agent_loop import (
    AgentLoop,
    AskModel,
    Begin,
    Compact,
    Compacted,
    CompactionRefused,
    Cut,
    Effect,
    Event,
    LoopLimits,
    ModelGaveUp,
    ModelReplied,
    Steered,
    words,
)
from hermes_actors.pure.endings import ENDINGS, OK, Ending, Reason, ending
from hermes_actors.pure.stop_report import CutOff, stop_report
from hermes_actors.pure.transcript import DIALECTS, validate
from hermes_actors.values import AssistantMessage, ModelReply, ToolMessage, Usage, UserMessage

from .steps import (
    ASK,
    TOOLS,
    answers,
    ask_of,
    begun,
    call,
    calls,
    end_of,
    kept,
    run_of,
    said,
    says,
    warned,
)

CUTS = [each.reason for each in ENDINGS if each != OK]
BIG = UserMessage("x" * 4000)


def reply_with(usage: Usage) -> ModelReplied:
    return ModelReplied(ModelReply("", (call(1),), "tool_calls", usage))


def test_at_the_limit_of_calls_the_model_sums_up_without_tools() -> None:
    loop = begun(LoopLimits(max_iterations=1))
    loop.feed(calls(call(1)))
    ask = ask_of(loop.feed(answers(1)))
    assert ask.tools is False
    assert ask.messages[-1] == ToolMessage("c1", f"seen\n\n{words.WRAP_UP}")
    effects = loop.feed(says("I saw a tree."))
    notice = words.MAX_ITERATIONS.format(limit=1)
    assert said(effects) == [("model", "I saw a tree."), ("limit", notice)]
    assert end_of(effects).ending == ending("max_iterations")
    assert end_of(effects).text == f"I saw a tree.\n\n{notice}"
    assert loop.history[-2:] == (
        ToolMessage("c1", "seen"),
        AssistantMessage(f"I saw a tree.\n\n{notice}"),
    )


def test_a_model_that_cannot_sum_up_is_asked_once_more_and_the_limit_is_said_anyway() -> None:
    loop = begun(LoopLimits(max_iterations=1))
    loop.feed(calls(call(1)))
    loop.feed(answers(1))
    assert ask_of(loop.feed(calls(call(2)))).tools is False
    effects = loop.feed(says(""))
    assert said(effects) == [("limit", words.MAX_ITERATIONS.format(limit=1))]
    assert end_of(effects).ending == ending("max_iterations")


def test_a_model_that_fails_while_summing_up_does_not_hide_the_limit() -> None:
    loop = begun(LoopLimits(max_iterations=1))
    loop.feed(calls(call(1)))
    loop.feed(answers(1))
    effects = loop.feed(ModelGaveUp("timeout", partial="I saw"))
    assert end_of(effects).ending == ending("max_iterations")
    assert end_of(effects).text.startswith("I saw\n\n")


def test_the_budget_ends_a_run_before_the_next_question() -> None:
    loop = begun(LoopLimits(tokens_per_run=100))
    loop.feed(reply_with(Usage(90, 10)))
    effects = loop.feed(answers(1))
    text = words.BUDGET.format(used=100, limit=100)
    assert said(effects) == [("limit", text)]
    assert end_of(effects).ending == ending("budget")
    assert not any(isinstance(each, AskModel) for each in effects)


def test_one_token_below_the_budget_goes_on() -> None:
    loop = begun(LoopLimits(tokens_per_run=100))
    loop.feed(reply_with(Usage(90, 9)))
    assert ask_of(loop.feed(answers(1)))


def test_an_answer_over_the_budget_is_still_an_answer() -> None:
    loop = begun(LoopLimits(tokens_per_run=1))
    assert end_of(loop.feed(says("done", usage=Usage(900, 9)))).ending == OK


# Compaction --------------------------------------------------------------------------------------


def test_a_long_history_is_compacted_before_the_model_is_asked() -> None:
    loop = AgentLoop((BIG,), TOOLS, LoopLimits(compact_at=1000))
    assert loop.feed(Begin()) == [Compact((BIG,))]
    assert loop.iterations == 0
    assert loop.feed(Compacted((ASK,))) == [AskModel((ASK,))]
    assert end_of(loop.feed(says("ok"))).ending == OK
    assert loop.history == (ASK, AssistantMessage("ok"))


def test_a_refused_compaction_is_not_tried_again_and_the_run_goes_on() -> None:
    loop = AgentLoop((BIG,), TOOLS, LoopLimits(compact_at=1000))
    loop.feed(Begin())
    effects = loop.feed(CompactionRefused("not smaller"))
    assert warned(effects) == ["compaction_refused"]
    assert ask_of(effects).messages == (BIG,)
    loop.feed(calls(call(1)))
    assert ask_of(loop.feed(answers(1)))


def test_compaction_happens_three_times_at_most() -> None:
    loop = AgentLoop((BIG,), TOOLS, LoopLimits(compact_at=1000))
    assert loop.feed(Begin()) == [Compact((BIG,))]
    assert [type(loop.feed(Compacted((BIG,)))[-1]) for _ in range(3)] == [
        Compact,
        Compact,
        AskModel,
    ]


def test_what_the_provider_counted_is_believed_over_the_estimate() -> None:
    loop = begun(LoopLimits(compact_at=1000))
    loop.feed(reply_with(Usage(input=990)))
    assert isinstance(loop.feed(answers(1))[-1], Compact)
    loop = begun(LoopLimits(compact_at=1000))
    loop.feed(reply_with(Usage(input=900)))
    assert isinstance(loop.feed(answers(1))[-1], AskModel)


def test_a_prompt_that_the_provider_finds_too_long_is_compacted_and_not_counted_twice() -> None:
    loop = begun()
    assert loop.feed(ModelGaveUp("context_overflow")) == [Compact((ASK,))]
    assert loop.feed(Compacted((ASK,))) == [AskModel((ASK,))]
    assert loop.iterations == 1


def test_a_prompt_that_is_too_long_and_cannot_be_compacted_ends_the_run_with_advice() -> None:
    loop = begun()
    loop.feed(ModelGaveUp("context_overflow"))
    effects = loop.feed(CompactionRefused())
    assert said(effects) == [("provider", words.CONTEXT_FULL)]
    assert end_of(effects).ending == ending("provider")


# Cut from outside --------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", CUTS)
def test_a_run_can_be_cut_for_every_reason_and_says_why(reason: Reason) -> None:
    effects = begun().feed(Cut(reason))
    report = stop_report(ending(reason))
    assert said(effects) == [("stop", report.text)]
    assert (end_of(effects).ending, end_of(effects).text) == (ending(reason), report.text)


def test_a_stop_in_the_middle_of_an_answer_keeps_and_marks_what_was_said() -> None:
    loop = begun()
    loop.feed(says("Once ", "length"))
    effects = loop.feed(Cut("user_stop", CutOff(model_call=True), "<think>x</think>upon a"))
    assert kept(effects) == [AssistantMessage("Once upon a [stopped]")]
    assert [origin for origin, _ in said(effects)] == ["model", "stop"]
    assert "the model call" in said(effects)[1][1]


def test_a_stop_among_tools_answers_every_open_call() -> None:
    loop = begun()
    loop.feed(calls(*(call(n, "web_search") for n in (1, 2, 3)), call(4)))
    loop.feed(answers(2))
    effects = loop.feed(Cut("user_stop", CutOff(tools=("web_search",) * 2)))
    assert kept(effects) == [
        ToolMessage("c1", "[stopped]"),
        ToolMessage("c2", "seen"),
        ToolMessage("c3", "[stopped]"),
        ToolMessage("c4", "[stopped]"),
        AssistantMessage("[stopped]"),
    ]


def test_a_stop_before_the_model_was_asked_is_a_stop_too() -> None:
    loop = AgentLoop((ASK,), TOOLS)
    assert end_of(loop.feed(Cut("user_stop"))).ending == ending("user_stop")
    assert loop.history == (ASK, AssistantMessage("[stopped]"))


def test_what_a_deadline_says_stands_in_the_transcript() -> None:
    loop = begun()
    effects = loop.feed(Cut("deadline", words="Out of time (deadline)."))
    assert kept(effects) == [AssistantMessage("Out of time (deadline).")]


def test_what_was_steered_into_a_stopped_run_is_given_back() -> None:
    loop = begun()
    loop.feed(calls(call(1)))
    loop.feed(Steered("and the garden"))
    effects = loop.feed(Cut("superseded"))
    assert end_of(effects).unheard == ("and the garden",)
    assert "garden" not in repr(kept(effects))


# The whole list ----------------------------------------------------------------------------------


def drive(limits: LoopLimits, *events: Event) -> tuple[AgentLoop, list[Effect]]:
    loop = begun(limits)
    effects: list[Effect] = []
    for event in events:
        effects = loop.feed(event)
    return loop, effects


LIMITS = LoopLimits()
EXITS: dict[str, tuple[Ending, LoopLimits, tuple[Event, ...]]] = {
    "text_response": (OK, LIMITS, (says("hi"),)),
    "guardrail_halt": (
        ending("guardrail"),
        LIMITS,
        tuple(event for n in range(8) for event in (calls(call(n)), answers(n, "no", failed=True))),
    ),
    "budget_exhausted": (
        ending("budget"),
        LoopLimits(tokens_per_run=1),
        (reply_with(Usage(1, 1)), answers(1)),
    ),
    "max_iterations_reached": (
        ending("max_iterations"),
        LoopLimits(max_iterations=1),
        (calls(call(1)), answers(1), says("summary")),
    ),
    "all_retries_exhausted_no_response": (
        ending("provider"),
        LIMITS,
        (ModelGaveUp("unreachable"),),
    ),
    "interrupted_by_user": (ending("user_stop"), LIMITS, (Cut("user_stop"),)),
    "interrupted_during_api_call": (
        ending("user_stop"),
        LIMITS,
        (Cut("user_stop", CutOff(model_call=True), "partial"),),
    ),
    "partial_stream_recovery": (
        OK,
        LIMITS,
        (ModelGaveUp("unreachable", partial="half "), says("whole")),
    ),
    "fallback_prior_turn_content": (
        OK,
        LIMITS,
        (calls(call(1, "memory"), text="noted"), answers(1), says("")),
    ),
    "empty_response_exhausted": (ending("provider"), LIMITS, tuple(says("") for _ in range(5))),
    "local_processing_error": (ending("internal"), LIMITS, (Cut("internal"),)),
    "content_policy": (
        ending("provider"),
        LIMITS,
        (says("", "content_filter"), says("", "content_filter")),
    ),
    "truncated_text": (
        ending("budget"),
        LIMITS,
        tuple(says("x", "length") for _ in range(4)),
    ),
    "truncated_calls": (
        ending("provider"),
        LIMITS,
        tuple(calls(call(1), finish="length") for _ in range(5)),
    ),
    "thinking_budget": (ending("budget"), LIMITS, (says("<think>x", "length"),)),
    "context_overflow": (
        ending("provider"),
        LIMITS,
        (ModelGaveUp("context_overflow"), CompactionRefused()),
    ),
    "invalid_tool_calls": (
        ending("provider"),
        LIMITS,
        tuple(calls(call(n, "nope")) for n in range(3)),
    ),
    "denied": (
        ending("denied"),
        LIMITS,
        tuple(event for n in range(3) for event in (calls(call(n)), answers(n, "no", denied=True))),
    ),
    "turn_deadline": (ending("deadline"), LIMITS, (Cut("deadline"),)),
    "inactivity": (ending("idle"), LIMITS, (Cut("idle"),)),
    "store_failed": (ending("store"), LIMITS, (Cut("store"),)),
}


@pytest.mark.parametrize("name", EXITS)
def test_every_exit_has_words_a_terminal_state_and_a_closed_transcript(name: str) -> None:
    expected, limits, events = EXITS[name]
    loop, effects = drive(limits, *events)
    end = end_of(effects)
    assert end.ending == expected
    assert end.text.strip()
    for dialect in DIALECTS.values():
        assert validate((*loop.history, UserMessage("next")), dialect) == ()


def test_the_exits_reach_every_state() -> None:
    assert {expected.state for expected, _, _ in EXITS.values()} == {each.state for each in ENDINGS}


def test_a_run_of_many_steps_ends_in_order() -> None:
    loop = begun()
    for n in range(50):
        assert run_of(loop.feed(calls(call(n))))
        assert ask_of(loop.feed(answers(n, f"result {n}")))
    assert end_of(loop.feed(says("done"))).ending == OK
    assert loop.iterations == 51
    assert len(loop.history) == 102


def test_a_model_that_gave_up_while_summing_up_is_not_asked_again() -> None:
    loop = begun(LoopLimits(max_iterations=1))
    loop.feed(calls(call(1)))
    loop.feed(answers(1))
    assert end_of(loop.feed(ModelGaveUp("timeout"))).ending == ending("max_iterations")


def test_after_compaction_the_old_count_is_forgotten_and_the_question_is_not() -> None:
    loop = begun(LoopLimits(compact_at=1000))
    effects = loop.feed(says("half ", "length", usage=Usage(input=1000)))
    assert effects[-1] == Compact((ASK,))
    (ask,) = loop.feed(Compacted((UserMessage("short"),)))
    assert isinstance(ask, AskModel)
    assert ask.max_output_tokens == 8192
    assert ask.messages[:2] == (UserMessage("short"), AssistantMessage("half"))
