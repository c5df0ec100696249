"""From happenings to words."""

from __future__ import annotations

from adapters.http.spoken import NO_WORDS, Spoken
from hermes_actors.happenings import RunEnded, Seen, SegmentEnded, ToolBegan, Words


def test_what_comes_together_is_said_once_and_in_paragraphs() -> None:
    spoken = Spoken()
    first: list[Seen] = [
        Words("r", "Let me"),
        Words("r", " look."),
        SegmentEnded("r"),
        ToolBegan("r", "c", "t"),
    ]
    assert spoken.hear(first) == "Let me look."
    last: list[Seen] = [
        Words("r", "Four."),
        SegmentEnded("r"),
        RunEnded("r", "completed", "ok", "Four."),
    ]
    assert spoken.hear(last) == "\n\nFour."
    assert spoken.text == "Let me look.\n\nFour."


def test_what_brings_its_own_paragraph_gets_no_second_one() -> None:
    spoken = Spoken()
    spoken.hear([Words("r", "Half"), SegmentEnded("r"), Words("r", "\n\nStopped.", "ending")])
    assert spoken.text == "Half\n\nStopped."


def test_an_end_in_silence_says_its_last_words_in_the_same_breath_or_none() -> None:
    words = RunEnded("r", "failed", "provider", "No provider.")
    assert Spoken().hear([words]) == "No provider."
    assert Spoken().hear([Words("r", "Hi."), words]) == "Hi."
    assert Spoken().hear([RunEnded("r", "completed", "ok")]) == NO_WORDS
