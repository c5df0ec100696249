"""A shield of its own gives a handler no more time than anybody else has."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from hermes_actors.hooks.shields import break_shields, end_all_in

from .doubles import STOPPED, Shielder, Swallower, World


async def shielded_in_layers(**_: Any) -> None:
    """A shield in a shield, and children with shields of their own."""
    with trio.CancelScope(shield=True):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Shielder())
            nursery.start_soon(Shielder())
            with trio.CancelScope(shield=True), trio.CancelScope(shield=True):
                await trio.sleep_forever()


async def shielded_anew_each_time(**_: Any) -> None:
    while True:
        with contextlib.suppress(trio.Cancelled), trio.CancelScope(shield=True):
            await trio.sleep_forever()


EVERY_WAY = pytest.mark.parametrize(
    "handler", [Shielder(), shielded_in_layers, shielded_anew_each_time]
)


@EVERY_WAY
async def test_where_a_handler_cannot_be_left_behind_its_shields_break_when_time_is_up(
    handler: Any, autojump_clock: MockClock
) -> None:
    world = World()
    world.on("agent_loop_stopped", handler)
    await world.bus.fire(STOPPED)
    assert trio.current_time() == 2
    assert world.reasons() in (["gave no answer within 2 s"], ["ignored its cancellation"])


@EVERY_WAY
async def test_where_it_can_be_left_behind_it_lives_until_the_bus_has_lingered(
    handler: Any, autojump_clock: MockClock
) -> None:
    world = World()

    async def story() -> None:
        await world.bus.fire(STOPPED)
        assert trio.current_time() == 2
        await trio.sleep(8)
        assert world.left_behind == 1

    world.on("agent_loop_stopped", handler)
    await world.during(story)
    assert trio.current_time() == 10 + 5
    assert world.left_behind == 0


async def test_a_caller_that_is_cancelled_does_not_wait_for_a_shield(
    autojump_clock: MockClock,
) -> None:
    world, shielder = World(), Shielder()
    world.on("agent_loop_stopped", shielder)
    with trio.move_on_after(1):
        await world.bus.fire(STOPPED)
    assert (trio.current_time(), shielder.gone_at) == (1, 1)


async def test_clean_up_in_a_shield_has_its_moment_before(autojump_clock: MockClock) -> None:
    world = World()

    async def tidy(**_: Any) -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.move_on_after(1, shield=True):
                await trio.sleep(0.09)
                world.log.append("tidied")

    world.on("agent_loop_stopped", tidy)
    await world.bus.fire(STOPPED)
    assert world.log == ["tidied"]


async def test_scopes_outside_are_not_touched(autojump_clock: MockClock) -> None:
    mine, elsewhere = trio.CancelScope(shield=True), trio.CancelScope()
    with mine:
        break_shields(trio.lowlevel.current_task(), up_to=elsewhere)
        assert (mine.shield, mine.cancel_called) == (True, False)
        with trio.CancelScope(shield=True) as inner:
            break_shields(trio.lowlevel.current_task(), up_to=mine)
            assert (inner.shield, inner.cancel_called) == (False, True)
            await trio.sleep_forever()
        assert (mine.shield, mine.cancel_called) == (True, False)


async def test_children_that_swallow_everything_are_given_up_on_and_not_waited_for(
    autojump_clock: MockClock,
) -> None:
    hopeless = Swallower()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hopeless)
        nursery.cancel_scope.cancel()
        await end_all_in(nursery)
        assert nursery.child_tasks
        hopeless.released = True
