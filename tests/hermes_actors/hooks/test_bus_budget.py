"""Time: what a firing may cost, whatever its handlers do, and how the bus itself ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from .doubles import CHOICE, PROMPT, REPLY, STOPPED, TOOL, Shielder, Swallower, World
from .misdeeds import Handler, hanging, raising, returning_garbage


async def test_policies_and_transformations_share_five_seconds(autojump_clock: MockClock) -> None:
    world = World()
    for _ in range(4):
        world.on("transform_llm_output", hanging)
    assert await world.bus.transform(REPLY) is None
    assert trio.current_time() == pytest.approx(1.9 + 1.9 + 1.1 + 0.075)
    assert world.reasons()[:2] == ["gave no answer within 2 s"] * 2
    assert "no time was left for it" not in world.reasons()[:3]


async def test_a_policy_for_which_no_time_is_left_objects(autojump_clock: MockClock) -> None:
    world = World(each=2.0, together=1.0)

    async def slow(**_: Any) -> None:
        autojump_clock.jump(0.95)

    async def unheard(**_: Any) -> None:
        world.log.append("asked")
        autojump_clock.jump(0.05)

    async def never(**_: Any) -> None:
        world.log.append("never")

    for policy in (slow, unheard, never):
        world.on("pre_tool_call", policy)
    decision = await world.bus.decide(TOOL)
    assert decision.failed_closed
    assert "never" not in world.log


LOAD: dict[str, Callable[[], Handler]] = {
    "raise": lambda: raising,
    "hang": lambda: hanging,
    "swallow": Swallower,
    "garbage": lambda: returning_garbage,
    "shield": Shielder,
}
ASKS: dict[str, tuple[str, Callable[[World], Awaitable[object]]]] = {
    "observer": ("agent_loop_stopped", lambda world: world.bus.fire(STOPPED)),
    "policy": ("pre_tool_call", lambda world: world.bus.decide(TOOL)),
    "transform": ("transform_llm_output", lambda world: world.bus.transform(REPLY)),
    "joined": ("pre_llm_call", lambda world: world.bus.transform(PROMPT)),
    "select": ("select_agent", lambda world: world.bus.select(CHOICE)),
}


@pytest.mark.parametrize("misdeed", LOAD)
@pytest.mark.parametrize("kind", ASKS)
async def test_twenty_bad_handlers_cost_two_seconds_each_and_five_together(
    kind: str, misdeed: str, autojump_clock: MockClock
) -> None:
    world, (hook, ask) = World(failures=3), ASKS[kind]
    costs = []

    async def story() -> None:
        for _ in range(8):
            began = trio.current_time()
            await ask(world)
            costs.append(trio.current_time() - began)

    for _ in range(20):
        world.on(hook, LOAD[misdeed]())
    await world.during(story)
    # Side by side, and before the first objection, only one handler's time is spent.
    most = 5 if kind in ("transform", "select") else 2
    assert max(costs) <= most + 1e-9
    if kind in ("observer", "joined"):
        assert costs[3:] == [0] * 5  # those who took their time are switched off by then


async def test_twenty_handlers_that_misbehave_differently_share_one_firing(
    autojump_clock: MockClock,
) -> None:
    world, swallowers = World(), [Swallower() for _ in range(5)]
    bad: list[Handler] = [*(Shielder() for _ in range(5)), *swallowers]
    bad += [raising] * 5 + [hanging] * 5

    async def story() -> None:
        await world.bus.fire(STOPPED)
        assert trio.current_time() == 2
        assert world.left_behind == 5

    for handler in bad:
        world.on("agent_loop_stopped", handler)
    await world.during(story)
    assert [s.swallowed for s in swallowers] == [100] * 5


async def test_what_is_told_of_a_run_is_on_record_once_even_if_nobody_listens() -> None:
    world = World()
    await world.bus.fire(STOPPED)
    await world.bus.decide(TOOL)
    (entry,) = world.journal.recent()
    assert (entry.kind, entry.data) == ("hook.fired", {"run": "r1", "hook": "agent_loop_stopped"})


async def test_a_handler_that_refuses_even_to_be_closed_is_counted_for_ever(
    autojump_clock: MockClock,
) -> None:
    world, stubborn = World(failures=1, cool_down=60), Swallower(BaseException)

    async def story() -> None:
        await world.bus.fire(STOPPED)
        assert trio.current_time() == pytest.approx(1.9)
        assert world.left_behind == 1
        await trio.sleep(1000)
        await world.bus.fire(STOPPED)  # no trial beside what never went away
        assert trio.current_time() == pytest.approx(1001.9)

    world.on("agent_loop_stopped", stubborn)
    await world.during(story)
    assert world.kinds() == ["hook.failed", "hook.switched_off"]
    stubborn.released = True


async def test_a_hook_in_flight_survives_the_end_of_everything(autojump_clock: MockClock) -> None:
    world = World()

    async def slow(**_: Any) -> None:
        await trio.sleep(1)
        world.log.append("heard")

    async def last_words() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.move_on_after(5, shield=True):
                await world.bus.fire(STOPPED)

    async def in_flight() -> None:
        with trio.CancelScope(shield=True):
            await world.bus.fire(STOPPED)

    world.on("agent_loop_stopped", slow)
    async with trio.open_nursery() as nursery:
        for task in (world.bus.run, last_words, in_flight):
            nursery.start_soon(task)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert world.log == ["heard", "heard"]
    assert trio.current_time() == 1


async def test_the_bus_ends_within_its_linger_although_a_handler_hangs(
    autojump_clock: MockClock,
) -> None:
    world = World(each=100, together=5)

    async def in_flight() -> None:
        with trio.CancelScope(shield=True):
            await world.bus.fire(STOPPED)

    world.on("agent_loop_stopped", hanging)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.bus.run)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(in_flight)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert trio.current_time() == pytest.approx(4.9)
