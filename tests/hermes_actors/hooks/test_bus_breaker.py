"""Handlers that keep failing are switched off, and get one chance at a time to come back."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from .doubles import STOPPED, TOOL, World
from .misdeeds import hanging, raising


async def test_the_fifth_failure_switches_a_handler_off_and_one_trial_decides(
    autojump_clock: MockClock,
) -> None:
    world, broken = World(), True

    async def flaky(**_: Any) -> None:
        world.log.append("called")
        if broken:
            raise ValueError

    async def fire_at(moment: float) -> int:
        await trio.sleep(moment - trio.current_time())
        await world.bus.fire(STOPPED)
        return len(world.log)

    world.on("agent_loop_stopped", flaky)
    assert [await fire_at(0) for _ in range(7)] == [1, 2, 3, 4, 5, 5, 5]
    assert world.kinds() == ["hook.failed"] * 5 + ["hook.switched_off"]
    assert world.bus.health()[0].switched_off
    assert [await fire_at(t) for t in (59.9, 60, 60, 119.9)] == [5, 6, 6, 6]
    broken = False
    assert [await fire_at(t) for t in (120, 120, 120)] == [7, 8, 9]
    assert world.kinds()[6:] == ["hook.failed", "hook.switched_off", "hook.switched_on"]
    assert not world.bus.health()[0].switched_off


async def test_a_policy_that_is_switched_off_goes_on_objecting_and_says_so(
    autojump_clock: MockClock,
) -> None:
    world = World()
    world.on("pre_tool_call", raising)
    for _ in range(5):
        await world.bus.decide(TOOL)
    decision = await world.bus.decide(TOOL)
    assert decision.failed_closed
    assert "is switched off" in decision.message
    assert world.kinds()[-1] == "hook.failed_closed"


async def test_a_cancelled_trial_is_not_a_verdict(autojump_clock: MockClock) -> None:
    world = World(failures=1, cool_down=60)
    world.on("agent_loop_stopped", hanging)
    await world.bus.fire(STOPPED)
    await trio.sleep(60)
    with trio.move_on_after(1):
        await world.bus.fire(STOPPED)
    began = trio.current_time()
    await world.bus.fire(STOPPED)  # the trial is still to be had
    assert trio.current_time() - began == pytest.approx(1.9)
