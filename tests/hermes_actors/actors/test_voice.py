"""What a run's one mouth says of an answer that did not come in one go."""

from __future__ import annotations

from hermes_actors.actors.feed import Feed
from hermes_actors.actors.voice import Voice
from hermes_actors.happenings import Seen, Words
from hermes_actors.values import ModelNotice, TextDelta


class Listening(Feed):
    """A feed that keeps everything."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Seen] = []

    def publish(self, what: Seen) -> None:
        self.heard.append(what)


def test_an_answer_that_begins_again_is_announced_and_counts_from_there() -> None:
    feed = Listening()
    voice = Voice(feed, "r1")
    for delta in (TextDelta("hel"), ModelNotice("[Again.]", restarts=True), TextDelta("hello")):
        voice.hear(delta)
    assert voice.segment == "hello"
    assert feed.heard == [
        Words("r1", "hel"),
        Words("r1", "\n\n[Again.]", "notice"),
        Words("r1", "\n\n", "notice"),
        Words("r1", "hello"),
    ]


def test_half_a_thought_of_the_first_answer_does_not_swallow_the_second() -> None:
    voice = Voice(Listening(), "r1")
    for delta in (TextDelta("<think>hm"), ModelNotice("", restarts=True), TextDelta("hello")):
        voice.hear(delta)
    assert voice.end_segment() == "hello"


def test_a_notice_alone_takes_nothing_back() -> None:
    voice = Voice(Listening(), "r1")
    for delta in (TextDelta("one "), ModelNotice("[Wait.]"), TextDelta("two")):
        voice.hear(delta)
    assert voice.segment == "one two"
