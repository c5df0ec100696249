"""Following a run where the feed alone cannot tell: on virtual time, with a real store."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from adapters.http.answers import Complaint
from adapters.http.following import LOOK_EVERY, Following
from adapters.http.spoken import Spoken
from hermes_actors.actors.driver import drive
from hermes_actors.actors.feed import TooSlow
from hermes_actors.actors.services import Services
from hermes_actors.happenings import RunEnded
from hermes_actors.store import inbox
from hermes_actors.testing.script import HANG
from hermes_actors.values import TextDelta
from tests.hermes_actors.actors.world import KEY, World, living_world


async def follow(world: World, key: str, *, known: bool = False) -> Following:
    await world.say("hello", key=key)
    services = Services(world.house, world.sessions, world.router)
    return Following(services, KEY, key=key, known=known)


async def to_the_end(following: Following) -> tuple[str, RunEnded]:
    spoken = Spoken()
    while True:
        batch = await following.next()
        spoken.hear(batch.seen)
        if batch.end is not None:
            return spoken.text, batch.end


async def test_a_message_that_is_taken_back_while_it_waits_is_told(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive) as world:
        world.model.script([HANG])
        await world.say("first", key="m1")
        await wait_all_tasks_blocked()
        following = await follow(world, "m2")
        await world.store.write(inbox.reject("m2", "test", now=0.0))
        with pytest.raises(Complaint, match="taken back") as told:
            await following.begin()
        assert told.value.status == 409
        assert trio.current_time() <= LOOK_EVERY + 1


async def test_the_end_of_a_run_whose_session_has_crashed_comes_from_the_store(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive) as world:
        world.model.script(["Half a sentence", HANG], "again")
        following = await follow(world, "m1")
        run = await following.begin()
        await wait_all_tasks_blocked()
        # As a crash leaves it: ended in the store, and nothing on the feed.
        feed = world.house.feeds.of(KEY)
        feed.forget(following._reader)
        world.stop()
        await wait_all_tasks_blocked()
        text, end = await to_the_end(following)
        assert (end.run, end.state, end.reason) == (run, "stopped", "user_stop")
        assert text.startswith("Half a sentence")
        assert "Stopped" in text


async def test_one_who_comes_late_gets_what_is_kept_from_the_beginning(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive) as world:
        world.model.script("All of it.")
        await world.say("hello", key="m1")
        await wait_all_tasks_blocked()
        following = await follow(world, "m1", known=True)
        text, end = await to_the_end(following)
        assert (text, end.state) == ("All of it.", "completed")
        assert len(world.model.requests) == 1


async def test_one_who_does_not_keep_up_is_told_where_to_go_on(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive) as world:
        world.model.script([TextDelta("x" * 100_000) for _ in range(8)])
        following = await follow(world, "m1")
        await following.begin()
        await wait_all_tasks_blocked()
        with pytest.raises(TooSlow):
            await to_the_end(following)
        assert world.look().state == "idle", "the run went on to its end"
