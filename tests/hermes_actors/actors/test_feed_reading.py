"""Reading a feed: collecting what waits, and finding where a run begins."""

from __future__ import annotations

import pytest
from trio.testing import MockClock

from hermes_actors.actors.feed import Feed, Numbered, TooSlow
from hermes_actors.happenings import RunBegan, RunEnded, Words


def began(run: str, *keys: str) -> RunBegan:
    return RunBegan(run, "key", "main", keys)


async def test_what_waits_is_taken_at_once_and_is_not_read_again(
    autojump_clock: MockClock,
) -> None:
    feed = Feed()
    reader = feed.subscribe()
    assert reader.take_waiting() == []
    feed.publish(Words("r", "a"))
    feed.publish(Words("r", "b"))
    assert reader.take_waiting() == [Numbered(1, Words("r", "a")), Numbered(2, Words("r", "b"))]
    feed.publish(Words("r", "c"))
    assert await anext(reader) == Numbered(3, Words("r", "c"))
    feed.close()
    assert [each async for each in reader] == []


async def test_one_who_collects_too_late_is_told_so_after_what_waited(
    autojump_clock: MockClock,
) -> None:
    feed = Feed()
    reader = feed.subscribe(events=1)
    feed.publish(began("r", "m"))
    feed.publish(RunEnded("r", "completed", "ok"))
    assert [each.number for each in reader.take_waiting()] == [1]
    with pytest.raises(TooSlow):
        await anext(reader)


def test_a_run_is_found_by_its_id_and_by_every_message_it_answers() -> None:
    feed = Feed(keep_events=3)
    assert feed.beginning("m1") is None
    feed.publish(began("r1", "m1", "m2"))
    feed.publish(RunEnded("r1", "completed", "ok"))
    feed.publish(began("r2", "m3"))
    assert [feed.beginning(name) for name in ("r1", "m1", "m2", "m3")] == [0, 0, 0, 2]
    feed.publish(Words("r2", "x"))
    assert feed.beginning("m1") is None, "its beginning is no longer kept"
