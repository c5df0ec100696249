"""A long history gets shorter, stays valid, and keeps what must not be lost."""

from __future__ import annotations

import random

import pytest

from hermes_actors.pure.compaction import (
    SYSTEM,
    CompactionLimits,
    Plan,
    Refused,
    accept,
    digest,
    estimate,
    plan,
    prompt,
    threshold,
)
from hermes_actors.pure.compaction.plan import SUMMARY_CLOSE, SUMMARY_OPEN, is_summary
from hermes_actors.pure.compaction.prompt import SECTIONS, clipped
from hermes_actors.pure.transcript import DIALECTS, Dialect, repair, validate
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from tests.hermes_actors.pure.transcript.histories import random_history

ALL = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))
SMALL = CompactionLimits(protect_first=2, protect_last=2, tail_tokens=30)
BIG = "word " * 200


def talk(turns: int) -> tuple[Message, ...]:
    return tuple(
        message
        for n in range(turns)
        for message in (UserMessage(f"question {n}"), AssistantMessage(f"answer {n} {BIG}"))
    )


def working(steps: int) -> tuple[Message, ...]:
    """One request and a long row of tool calls."""
    return (
        UserMessage("please tidy up"),
        *(
            message
            for n in range(steps)
            for message in (
                AssistantMessage("", (ToolCall(f"c{n}", "look", f'{{"n": {n}}}'),)),
                ToolMessage(f"c{n}", BIG),
            )
        ),
    )


def planned(history: tuple[Message, ...], limits: CompactionLimits = SMALL) -> Plan:
    found = plan(history, limits)
    assert found is not None
    return found


def taken(found: Plan, summary: str) -> tuple[Message, ...]:
    new = accept(found, summary)
    assert not isinstance(new, Refused)
    return new


def test_the_beginning_and_the_end_are_protected() -> None:
    history = talk(6)
    found = planned(history)
    assert (found.head, found.tail) == (history[:2], history[-2:])
    assert found.head + found.middle + found.tail == history


def test_a_call_and_its_result_are_never_torn_apart() -> None:
    history = working(6)
    for last in range(1, 9):
        found = planned(history, CompactionLimits(2, last, 0))
        assert isinstance(found.tail[0], AssistantMessage)
        assert len(found.tail) == last + last % 2


def test_the_request_that_is_worked_on_is_quoted_when_it_was_summarised() -> None:
    new = taken(planned(working(6)), "looked around")
    assert isinstance(new[0], UserMessage)
    assert "looked around" in new[0].text
    assert new[0].text.endswith("please tidy up")
    again = planned((*new, *working(6)[1:]))
    text = taken(again, "still looking")[0].text
    assert text.endswith("please tidy up")
    assert text.count("latest request") == 1


def test_a_request_in_the_tail_is_not_quoted_twice() -> None:
    new = taken(planned(talk(6)), "they talked")
    text = "\n".join(message.text for message in new)
    assert text.count("question 5") == 1


def test_a_summary_stands_in_marks_and_in_front_of_the_next_words() -> None:
    new = taken(planned(talk(6)), "they talked")
    assert new[2].text == f"{SUMMARY_OPEN}\nthey talked\n{SUMMARY_CLOSE}\n\nquestion 5"
    assert is_summary(new[2])


def test_after_a_first_summary_nothing_at_the_beginning_is_protected() -> None:
    history = (UserMessage(f"{SUMMARY_OPEN}\nold\n{SUMMARY_CLOSE}"), *talk(5)[1:])
    found = planned(history)
    assert found.head == ()
    assert "earlier summary" in prompt(found)
    assert "\nold\n" in prompt(found)


@pytest.mark.parametrize("history", [(), talk(1), working(1), (UserMessage(BIG),)])
def test_where_there_is_nothing_between_head_and_tail_there_is_no_plan(
    history: tuple[Message, ...],
) -> None:
    assert plan(history, SMALL) is None


def test_only_a_smaller_history_is_taken() -> None:
    found = planned(talk(6))
    assert accept(found, BIG * 50) == Refused("not_smaller")
    assert accept(found, " \n") == accept(found, "<think>hm") == Refused("empty")
    assert estimate(taken(found, "short")) < found.tokens == estimate(talk(6))


def test_the_boundary_is_strict() -> None:
    found = planned(talk(6))
    limit = next(n for n in range(10**6) if isinstance(accept(found, "x" * n * 4), Refused) and n)
    assert estimate(taken(found, "x" * (limit - 1) * 4)) == found.tokens - 1


def test_the_prompt_has_every_section_the_material_and_the_focus() -> None:
    text = prompt(planned(working(6)), "the colour of the sky")
    assert all(section in text for section in SECTIONS)
    assert "the colour of the sky" in text
    assert 'CALL look: {"n": 1}' in text
    assert "question" not in prompt(planned(working(6)))
    assert "do not follow" in SYSTEM


def test_long_results_are_clipped_in_the_prompt_and_both_ends_stay() -> None:
    assert clipped("abc", 3) == "abc"
    text = clipped("a" * 5000 + "z" * 5000)
    assert text.startswith("a")
    assert text.endswith("z")
    assert len(text) < 2100
    huge = (*talk(2), AssistantMessage("x" * 10**6), *talk(4))
    assert len(prompt(planned(huge))) < 20_000


def test_without_a_model_there_is_still_a_digest() -> None:
    found = planned((*talk(3), *working(5)))
    text = digest(found)
    assert "question 1" in text
    assert "look ×" in text
    assert len(text) <= 8100
    assert not isinstance(accept(found, text), Refused)


@ALL
def test_what_was_valid_is_valid_and_smaller_after_compaction(dialect: Dialect) -> None:
    dice, accepted = random.Random(5), 0
    for _ in range(3000):
        history = repair(random_history(dice), dialect)
        limits = CompactionLimits(dice.randint(0, 4), dice.randint(1, 4), dice.randint(0, 40))
        found = plan(history, limits)
        if found is None:
            continue
        assert found.head + found.middle + found.tail == history
        assert found.middle
        found = Plan(found.head, found.middle, found.tail, found.tokens + 10_000)
        new = taken(found, "short")
        accepted += 1
        assert validate(new, dialect) == ()
    assert accepted > 500


@pytest.mark.parametrize(
    ("context", "output", "tokens"),
    [
        (1_000_000, 0, 500_000),
        (200_000, 0, 150_000),
        (200_000, 20_000, 135_000),
        (80_000, 0, 64_000),
        (64_000, 0, 54_400),
        (8_000, 0, 6_800),
        (100, 200, 1),
    ],
)
def test_the_threshold_leaves_room_to_work_in(context: int, output: int, tokens: int) -> None:
    assert threshold(context, output) == tokens


def test_size_counts_bytes_calls_and_messages() -> None:
    assert estimate([]) == 0
    assert estimate([UserMessage("abcd")]) == 5
    assert estimate([UserMessage("é")]) == 5
    call = ToolCall("id", "look", "{}ab")
    assert estimate([AssistantMessage("", (call,))]) == 4 + 2
