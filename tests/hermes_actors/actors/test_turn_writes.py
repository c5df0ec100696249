"""How often a turn goes to the disk: a claim about speed that no clock is needed for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from hermes_actors.actors.driver import drive
from hermes_actors.store import bindings, runs, usage
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.invariants import assert_invariants
from hermes_actors.testing.script import calls
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import KEY, World, living_world, until_ended

DAY = "1970-01-01"


@pytest.fixture
def log() -> Iterator[EventLog]:
    log = EventLog()
    yield log
    assert_invariants(log)


async def answer(world: World, text: str) -> None:
    reader = world.watch(after=world.house.feeds.of(KEY).number)
    await world.say(text)
    await until_ended(reader)
    reader.close()


def commits(log: EventLog) -> int:
    return len(log.of("store.committed"))


async def test_a_turn_that_nobody_listens_to_is_kept_begun_and_ended_in_three_writes(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.model.script("one", "two")
        await answer(world, "first")
        before = commits(log)
        await answer(world, "second")
        assert commits(log) - before == 3
        assert await world.store.read(runs.owing_hook()) == []
        (spent,) = await world.store.read(usage.of_day(DAY))
        assert spent.calls == 2


async def test_who_listens_for_the_end_is_owed_it_until_the_duty_was_taken_by_itself(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        owing = list[int]()

        async def look(**given: Any) -> None:
            owing.append(len(await world.store.read(runs.owing_hook())))

        world.model.script("one", "two")
        await answer(world, "first")
        world.bus.register("agent_loop_completed", look, owner="test")
        before = commits(log)
        await answer(world, "second")
        assert (commits(log) - before, owing) == (4, [0])


async def test_the_cost_of_a_call_for_tools_is_kept_with_the_call(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    spent = list[int]()

    async def look(arguments: dict[str, Any]) -> str:
        spent.extend(day.calls for day in await world.store.read(usage.of_day(DAY)))
        return "seen"

    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.tools = Toolbox(look=look)
        world.model.script([calls("look")], "done")
        await answer(world, "go")
        spent.extend(day.calls for day in await world.store.read(usage.of_day(DAY)))
        assert spent == [1, 2]


async def test_a_run_that_begins_says_that_its_key_was_used(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.model.script("one", "two")
        await answer(world, "first")
        await trio.sleep(60)
        await answer(world, "second")
        bound = await world.store.read(bindings.find(KEY))
        assert bound is not None
        assert (bound.bound_at, bound.updated_at) == (1000.0, 1060.0)
