"""Thoughts never reach a reader, words always do, wherever the text is cut."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_actors.pure.think import TAGS, ThinkScrubber, scrub

BLOCKS = ("<think>", "</think>", "<THINK>", "</Thinking>", "<thinking>", "<thought>", "</thought>")
MORE = ("<reasoning_scratchpad>", "</REASONING_SCRATCHPAD>", "<tool_call>", "</tool_call>", "<thi")
WORDS = ("a", "word", "<", ">", "</", "İ", "ſ", "K", "<b>", "\n", "\r\n", " ", "\t", "\x1c", "\x85")
PIECES = st.sampled_from((*BLOCKS, *MORE, *WORDS))
TEXTS = st.lists(PIECES, max_size=14).map("".join)


def in_pieces(text: str, cuts: list[int]) -> str:
    scrubber, places = ThinkScrubber(), sorted({0, len(text), *cuts})
    parts = [text[start:end] for start, end in itertools.pairwise(places)]
    return "".join([*map(scrubber.feed, parts), scrubber.finish()])


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("", ""),
        ("plain words", "plain words"),
        ("<think>hm</think>Hello", "Hello"),
        ("<think>hm</think>\n\nHello", "Hello"),
        ("<THINK>hm</tHiNk>Hello", "Hello"),
        ("  <think>hm</think>Hello", "  Hello"),
        ("<think>a</think> <think>b</think>\n<thought>c</thought>\n  Hi", "  Hi"),
        ("One\n<think>x</think>\nTwo", "One\nTwo"),
        ("One\n\n<think>x</think>\n\nTwo", "One\n\nTwo"),
        ("<think>x</think>\n    code", "    code"),
        ("Hello\n<think>never closed", "Hello\n"),
        ("<think>never </thinking> closed", ""),
        ("the <think> tag", "the <think> tag"),
        ("write <think>x</think> like this", "write <think>x</think> like this"),
        ("orphan</think> gone", "orphan gone"),
        ("</think>\nHello", "\nHello"),
        ("a < b <thinker> </thinks> <thi", "a < b <thinker> </thinks> <thi"),
        ("<think x>y</think>", "<think x>y"),
        ("<tool_call>{}</tool_call>Done", "Done"),
        ("<think>a <think> b</think>c", "c"),
    ],
)
def test_thoughts_go_and_words_stay(text: str, seen: str) -> None:
    assert scrub(text) == seen


@pytest.mark.parametrize("tag", TAGS)
def test_every_tag_is_known_in_any_case(tag: str) -> None:
    assert scrub(f"<{tag.upper()}>secret</{tag.title()}>ok") == "ok"


@settings(max_examples=600)
@given(TEXTS, st.lists(st.integers(0, 80), max_size=8))
def test_cuts_make_no_difference(text: str, cuts: list[int]) -> None:
    assert in_pieces(text, [cut for cut in cuts if cut < len(text)]) == scrub(text)


@settings(max_examples=300)
@given(TEXTS)
def test_one_character_at_a_time_makes_no_difference(text: str) -> None:
    assert in_pieces(text, list(range(len(text)))) == scrub(text)


@settings(max_examples=300)
@given(TEXTS)
def test_what_is_shown_was_written_and_in_that_order(text: str) -> None:
    rest = iter(text)
    assert all(character in rest for character in scrub(text))


@given(st.text())
def test_text_without_an_angle_is_left_alone(text: str) -> None:
    plain = text.replace("<", "")
    assert scrub(plain) == plain


@given(st.text(alphabet="ab <>/think\n"))
def test_a_secret_inside_a_closed_thought_is_never_shown(secret: str) -> None:
    hidden = secret.replace("</think>", "")
    assert scrub(f"before\n<think>{hidden}\0</think>after") == "before\nafter"


def test_words_are_shown_at_once_and_only_a_possible_tag_waits() -> None:
    scrubber = ThinkScrubber()
    deltas = ["Hel", "lo <", "b> <thi", "s> ", "\n<thin", "k>x</th", "ink>\n", "end"]
    assert [scrubber.feed(delta) for delta in deltas] == [
        "Hel",
        "lo ",
        "<b> ",
        "<this> ",
        "\n",
        "",
        "",
        "end",
    ]
    assert scrubber.finish() == ""


def test_it_says_whether_there_was_a_thought() -> None:
    quiet, loud = ThinkScrubber(), ThinkScrubber()
    quiet.feed("the <think> tag")
    loud.feed("<think>hm")
    assert (quiet.thought, loud.thought) == (False, True)


def test_an_endless_thought_is_not_collected() -> None:
    scrubber = ThinkScrubber()
    scrubber.feed("<think>")
    for _ in range(100):
        assert scrubber.feed("x" * 10_000) == ""
    assert len(scrubber._held) < 30
