"""Plain functions run in threads, of which there are only so many. Real threads, real clock."""

from __future__ import annotations

import threading
from typing import Any

import trio
import trio.testing

from .doubles import STOPPED, TOOL, World


class StuckThreads:
    """Plain handlers that stay in their threads until released. Real threads, so a real clock."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.calls = 0

    def __call__(self, **_: Any) -> None:
        self.calls += 1
        self.gate.wait()


async def test_threads_that_never_come_back_are_counted_and_capped() -> None:
    world, stuck = World(each=0.4, threads=2, failures=100), StuckThreads()

    async def story() -> None:
        for _ in range(4):
            await world.bus.fire(STOPPED)
        assert stuck.calls == 2
        assert world.left_behind == 2
        assert world.kinds() == ["hook.failed"] * 2 + ["hook.not_run"] * 2
        assert world.reasons()[2:] == ["no thread was free"] * 2
        # Nobody waits for a thread that is not to be had.
        with trio.testing.assert_no_checkpoints():
            decision = await world.bus.decide(TOOL)
        assert decision.failed_closed
        stuck.gate.set()

    world.on("agent_loop_stopped", stuck)
    world.on("pre_tool_call", lambda **_: None)
    await world.during(story)


async def test_a_call_given_up_while_it_waits_for_a_thread_never_touches_the_handler() -> None:
    world, stuck = World(each=0.4, threads=1, failures=100), StuckThreads()

    async def story() -> None:
        await world.bus.fire(STOPPED)  # both want the only thread
        assert stuck.calls == 1
        assert sorted(world.kinds()) == ["hook.failed", "hook.not_run"]
        stuck.gate.set()

    world.on("agent_loop_stopped", stuck)
    world.on("agent_loop_stopped", stuck)
    await world.during(story)
    assert stuck.calls == 1


async def test_a_plain_handler_that_raises_is_treated_like_any_other() -> None:
    world = World()

    def plain(**_: Any) -> None:
        raise ValueError

    world.on("pre_tool_call", plain)
    assert (await world.bus.decide(TOOL)).failed_closed
    assert world.reasons() == ["raised ValueError"] * 2
