"""Readers of a feed: in order, without gaps, and never in the way."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from hermes_actors.actors.feed import Feed, Feeds, Numbered, Reader, TooLate, TooSlow
from hermes_actors.happenings import RunBegan, RunEnded, SegmentEnded, Words


def say(feed: Feed, *texts: str) -> None:
    for text in texts:
        feed.publish(Words("r1", text))


def waiting(reader: Reader) -> list[Numbered]:
    """Everything that a reader has not taken yet, taken now."""

    async def take() -> list[Numbered]:
        reader.close()
        return [each async for each in reader]

    return trio.run(take)


def test_every_reader_sees_everything_in_order() -> None:
    feed = Feed()
    one, other = feed.subscribe(), feed.subscribe()
    say(feed, "a", "b")
    expected = [Numbered(1, Words("r1", "a")), Numbered(2, Words("r1", "b"))]
    assert waiting(one) == waiting(other) == expected


def test_a_reader_can_come_back_and_go_on_where_it_left_off() -> None:
    feed = Feed()
    say(feed, "a", "b", "c")
    assert [each.number for each in waiting(feed.subscribe(after=1))] == [2, 3]
    assert waiting(feed.subscribe(after=3)) == []
    assert waiting(feed.subscribe()) == []


def test_what_is_no_longer_kept_is_refused_and_not_skipped() -> None:
    feed = Feed(keep_events=2)
    say(feed, "a", "b", "c")
    with pytest.raises(TooLate, match="begins at 2"):
        feed.subscribe(after=0)
    assert [each.number for each in waiting(feed.subscribe(after=1))] == [2, 3]


def test_what_is_kept_is_bounded_by_its_size() -> None:
    feed = Feed(keep_size=1000)
    say(feed, *["x" * 300] * 10)
    with pytest.raises(TooLate):
        feed.subscribe(after=6)
    assert len(waiting(feed.subscribe(after=8))) == 2


def test_a_slow_reader_gets_waiting_words_as_one() -> None:
    feed = Feed()
    reader = feed.subscribe(events=2)
    say(feed, "a", "b", "c", "d")
    assert waiting(reader) == [Numbered(1, Words("r1", "a")), Numbered(4, Words("r1", "bcd"))]


def test_words_of_others_are_not_mixed_and_other_things_not_merged() -> None:
    feed = Feed()
    reader = feed.subscribe(events=1)
    say(feed, "a")
    feed.publish(Words("r2", "b"))
    assert isinstance(drop_of(reader), TooSlow)


def drop_of(reader: Reader) -> TooSlow | None:
    async def read() -> TooSlow | None:
        try:
            async for _ in reader:
                pass
        except TooSlow as slow:
            return slow
        return None

    return trio.run(read)


def test_a_reader_that_is_too_slow_is_dropped_with_the_number_to_come_back_to() -> None:
    feed = Feed()
    reader = feed.subscribe(events=2)
    feed.publish(RunBegan("r1", "k", "main"))
    feed.publish(SegmentEnded("r1"))
    feed.publish(RunEnded("r1", "completed", "ok"))
    slow = drop_of(reader)
    assert slow is not None
    assert slow.cursor == 2
    assert not feed.watched
    assert [each.number for each in waiting(feed.subscribe(after=slow.cursor))] == [3]


def test_catching_up_is_not_being_slow() -> None:
    feed = Feed()
    for _ in range(50):
        feed.publish(SegmentEnded("r1"))
    assert len(waiting(feed.subscribe(after=0, events=2))) == 50


@given(
    texts=st.lists(st.text(max_size=5), max_size=30),
    events=st.integers(1, 5),
)
def test_no_word_is_lost_twice_or_out_of_order(texts: list[str], events: int) -> None:
    feed = Feed()
    reader = feed.subscribe(events=events)
    say(feed, *texts)
    seen = waiting(reader)
    told = [each.what.text for each in seen if isinstance(each.what, Words)]
    assert "".join(told) == "".join(texts)
    assert not seen or seen[-1].number == len(texts)


async def test_a_reader_waits_for_what_comes_and_ends_with_the_feed() -> None:
    feeds = Feeds()
    feed = feeds.of("k")
    seen: list[int] = []

    async def read() -> None:
        async for each in feed.subscribe():
            seen.append(each.number)  # noqa: PERF401  looked at meanwhile

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await wait_all_tasks_blocked()
        say(feed, "a")
        await wait_all_tasks_blocked()
        assert seen == [1]
        say(feed, "b")
        feeds.close()
    assert seen == [1, 2]


def test_a_feed_stays_as_long_as_somebody_reads_it() -> None:
    feeds = Feeds()
    feed = feeds.of("k")
    reader = feed.subscribe()
    feeds.release("k")
    assert feeds.of("k") is feed
    reader.close()
    feeds.release("k")
    assert feeds.of("k") is not feed
