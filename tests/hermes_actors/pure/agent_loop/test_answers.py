"""Answers that are cut, empty, filtered or only thought are tried again, and never for ever."""

from __future__ import annotations

import pytest

from hermes_actors.pure.agent_loop import (
    AgentLoop,
    Begin,
    LoopLimits,
    ModelGaveUp,
    Phase,
    words,
)
from hermes_actors.pure.endings import OK, ending
from hermes_actors.values import AssistantMessage, FinishReason, ToolMessage, UserMessage

from .steps import (
    ASK,
    answers,
    ask_of,
    begun,
    call,
    calls,
    end_of,
    kept,
    said,
    says,
    warned,
)


def test_a_cut_answer_is_continued_and_kept_as_one() -> None:
    loop = begun()
    first = loop.feed(says("Once upon ", "length"))
    assert said(first) == [("model", "Once upon")]
    ask = ask_of(first)
    assert ask.messages == (ASK, AssistantMessage("Once upon"), UserMessage(words.CONTINUE))
    assert ask.max_output_tokens == 8192
    last = loop.feed(says("a time."))
    assert said(last) == [("model", "a time.")]
    assert end_of(last).text == "Once upon a time."
    assert loop.history == (ASK, AssistantMessage("Once upon a time."))


def test_an_answer_that_never_ends_is_given_up_after_three_more_and_says_so() -> None:
    loop = begun()
    for n in range(3):
        assert ask_of(loop.feed(says(f"part {n}. ", "length")))
    effects = loop.feed(says("part 3.", "length"))
    end = end_of(effects)
    assert end.ending == ending("budget")
    assert end.text == f"part 0. part 1. part 2. part 3.\n\n{words.STILL_CUT}"
    assert said(effects) == [("model", "part 3."), ("limit", words.STILL_CUT)]


@pytest.mark.parametrize(
    ("asked", "rooms"),
    [(None, [8192, 16_384, 32_768]), (10_000, [20_000, 32_768, 32_768]), (50_000, [50_000] * 3)],
)
def test_each_continuation_gets_more_room_up_to_a_bound(
    asked: int | None, rooms: list[int]
) -> None:
    loop = AgentLoop((ASK,), (), LoopLimits(max_output_tokens=asked))
    assert ask_of(loop.feed(Begin())).max_output_tokens == asked
    assert [ask_of(loop.feed(says("x", "length"))).max_output_tokens for _ in range(3)] == rooms


def test_nothing_more_to_say_completes_what_was_said() -> None:
    loop = begun()
    loop.feed(says("all of it", "length"))
    assert end_of(loop.feed(says(""))).text == "all of it"


def test_calls_after_a_cut_answer_carry_the_words_with_them() -> None:
    loop = begun()
    loop.feed(says("I will ", "length"))
    effects = loop.feed(calls(call(1), text="look."))
    assert kept(effects) == [AssistantMessage("I will look.", (call(1),))]


def test_thinking_that_used_up_all_the_room_ends_at_once_and_says_so() -> None:
    for reply in (says("<think>hm", "length"), says("", "length", reasoning="hm")):
        effects = begun().feed(reply)
        assert end_of(effects).ending == ending("budget")
        assert said(effects) == [("limit", words.THINKING_USED_UP)]


@pytest.mark.parametrize("finish", ["length", "tool_calls"])
def test_a_call_that_was_cut_is_never_run(finish: FinishReason) -> None:
    loop = begun()
    half = call(1, arguments='{"path": "/et')
    for n in range(4):
        effects = loop.feed(calls(half, finish=finish))
        assert warned(effects) == ["call_cut"]
        ask = ask_of(effects)
        assert ask.messages == (UserMessage(f"please\n\n{words.CALLS_CUT}"),)
        assert ask.max_output_tokens == min(4096 * 2 ** (n + 1), 32_768)
    effects = loop.feed(calls(half, finish="length"))
    assert end_of(effects).ending == ending("provider")
    assert said(effects) == [("provider", words.CALLS_STAY_CUT)]


def test_words_before_a_cut_call_are_not_lost() -> None:
    loop = begun()
    ask = ask_of(loop.feed(calls(call(1, arguments="{"), text="Let me see. ")))
    assert ask.messages[1:] == (AssistantMessage("Let me see."), UserMessage(words.CALLS_CUT))
    assert kept(loop.feed(calls(call(1), text="Now.")))[0].text == "Let me see. Now."


def test_an_empty_answer_is_asked_for_again_rung_by_rung() -> None:
    loop = begun()
    asks = [ask_of(loop.feed(says(" \n"))) for _ in range(4)]
    assert [ask.fallback for ask in asks] == [False, False, False, True]
    assert all(ask.messages == (ASK,) for ask in asks)
    effects = loop.feed(says(""))
    assert end_of(effects).ending == ending("provider")
    assert said(effects) == [("provider", words.EMPTY)]
    assert loop.history == (ASK, AssistantMessage(words.EMPTY))


def test_thoughts_without_an_answer_are_reminded_twice_first() -> None:
    loop = begun()
    asks = [ask_of(loop.feed(says("<think>hm</think>"))) for _ in range(6)]
    reminded = (UserMessage(f"please\n\n{words.THOUGHT_ONLY}"),)
    assert [ask.messages for ask in asks] == [reminded] * 2 + [(ASK,)] * 4
    assert end_of(loop.feed(says("", reasoning="hm"))).ending == ending("provider")


def test_silence_after_tools_is_reminded_once_and_the_reminder_is_not_kept() -> None:
    loop = begun()
    loop.feed(calls(call(1)))
    loop.feed(answers(1))
    ask = ask_of(loop.feed(says("")))
    assert ask.messages[-1] == ToolMessage("c1", f"seen\n\n{words.ANSWER_NOW}")
    assert ask_of(loop.feed(says(""))).messages[-1] == ToolMessage("c1", "seen")
    loop.feed(says("at last"))
    assert loop.history[-2:] == (ToolMessage("c1", "seen"), AssistantMessage("at last"))


def test_a_good_reply_puts_the_ladder_back() -> None:
    loop = begun()
    for n in range(1, 6):
        for _ in range(4):
            assert ask_of(loop.feed(says("")))
        loop.feed(calls(call(n)))
        loop.feed(answers(n))


def test_words_before_mere_housekeeping_are_the_answer_if_nothing_follows() -> None:
    loop = begun()
    loop.feed(calls(call(1, "memory"), text="I will remember that."))
    loop.feed(answers(1))
    effects = loop.feed(says(""))
    assert said(effects) == []  # it has been read already
    assert end_of(effects).ending == OK
    assert end_of(effects).text == "I will remember that."


def test_words_before_real_work_are_not_taken_for_the_answer() -> None:
    loop = begun()
    loop.feed(calls(call(1, "memory"), call(2), text="I will see."))
    loop.feed(answers(1))
    loop.feed(answers(2))
    assert ask_of(loop.feed(says("")))


def test_a_filtered_answer_is_tried_elsewhere_once() -> None:
    loop = begun()
    assert ask_of(loop.feed(says("", "content_filter"))).fallback
    effects = loop.feed(says("", "content_filter"))
    assert end_of(effects).ending == ending("provider")
    assert said(effects) == [("provider", words.FILTERED)]


def test_an_answer_that_is_filtered_in_the_middle_is_not_asked_for_again() -> None:
    effects = begun().feed(says("It is ", "content_filter"))
    assert said(effects) == [("model", "It is"), ("provider", words.FILTERED)]
    assert end_of(effects).text == f"It is\n\n{words.FILTERED}"


TROUBLES = (
    "rate_limited overloaded unreachable timeout unauthorized billing context_overflow"
    " content_filter bad_request bad_reply something_new"
)


@pytest.mark.parametrize("kind", TROUBLES.split())
def test_a_model_that_gave_up_is_told_in_plain_words(kind: str) -> None:
    effects = begun(LoopLimits(compactions=0)).feed(ModelGaveUp(kind, "status 500"))
    ((origin, text),) = said(effects)
    assert origin == "provider"
    assert text == words.trouble(kind, "status 500")
    assert "status 500" in text
    assert end_of(effects).ending == ending("provider")


def test_an_answer_that_broke_off_goes_on_and_the_reader_is_told() -> None:
    loop = begun()
    effects = loop.feed(ModelGaveUp("unreachable", partial="Once upon "))
    assert said(effects) == [("model", "Once upon"), ("notice", words.RECONNECTED)]
    assert ask_of(effects).messages[1:] == (
        AssistantMessage("Once upon"),
        UserMessage(words.CONTINUE),
    )
    assert end_of(loop.feed(says("a time"))).text == "Once upon a time"


def test_an_answer_that_keeps_breaking_off_fails_with_what_there_is() -> None:
    loop = begun()
    for _ in range(3):
        assert ask_of(loop.feed(ModelGaveUp("timeout", partial="x")))
    effects = loop.feed(ModelGaveUp("timeout", partial="y"))
    assert end_of(effects).ending == ending("provider")
    assert end_of(effects).text == f"xxxy\n\n{words.trouble('timeout')}"
    assert loop.phase is Phase.ENDED


def test_useful_work_between_cut_answers_starts_the_count_again() -> None:
    loop = begun()
    for n in range(1, 4):
        for _ in range(3):
            assert ask_of(loop.feed(says("x", "length")))
        for _ in range(4):
            assert ask_of(loop.feed(calls(call(n, arguments="{"))))
        loop.feed(calls(call(n)))
        assert ask_of(loop.feed(answers(n))).messages[-1] == ToolMessage(f"c{n}", "seen")


def test_a_finished_piece_does_not_come_back_in_the_next_answer() -> None:
    loop = begun()
    loop.feed(says("First ", "length"))
    loop.feed(calls(call(1), text="this."))
    loop.feed(answers(1))
    assert end_of(loop.feed(says("Then that."))).text == "Then that."


def test_half_an_answer_is_not_asked_for_again_when_asking_cannot_help() -> None:
    effects = begun().feed(ModelGaveUp("billing", partial="half"))
    assert end_of(effects).text == f"half\n\n{words.trouble('billing')}"
