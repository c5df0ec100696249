"""A terminal hook fires exactly once, at whatever step the run, or everything, is cut.

The run asks a policy, lets its text be transformed, works a little, and tells its end from a
`finally` inside a shield, as turns do. The sweep cuts it before every step that it takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from hermes_actors.hooks import HookBus
from hermes_actors.hooks.events import AgentLoopCompleted
from hermes_actors.hooks.kinds import Observation
from hermes_actors.testing import Stage, cancel_at_every_step

from .doubles import REPLY, STOPPED, TOOL, Shielder, Swallower
from .misdeeds import cancelling_its_nursery, hanging, raising

COMPLETED = AgentLoopCompleted(
    session_key="agent:main:chat:1", platform="chat", agent_id="main", run_id="r1", duration_ms=12
)


class Run:
    """One run, on a bus that is part of the scenario; `heard` is what polite observers heard."""

    def __init__(self, *rude: Callable[[], Callable[..., Any]], shielded: bool = True) -> None:
        self._rude, self._shielded = rude, shielded
        self.heard: list[str] = []

    async def __call__(self, stage: Stage) -> None:
        self.heard = stage.world = []
        bus, stop = HookBus(stage.journal), trio.CancelScope()
        stage.on_stop(lambda: stop.cancel("user_stop"))
        self._subscribe(bus)
        stage.arm()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bus.run)
            await self._turn(bus, stage, stop)
            nursery.cancel_scope.cancel("the scenario is over")

    def verify(self, stage: Stage) -> None:
        """Each polite observer has heard of the end once, of the same end, and to its end."""
        first, *rest = stage.world
        assert rest == [first]
        assert stage.log.kinds().count("hook.fired") == 1

    def _subscribe(self, bus: HookBus) -> None:
        async def prompt(run_id: str) -> None:
            self.heard.append(run_id)

        async def slow(run_id: str) -> None:
            await trio.sleep(1)
            await trio.lowlevel.checkpoint()
            self.heard.append(run_id)

        for hook in ("agent_loop_stopped", "agent_loop_completed"):
            for handler in (prompt, slow, *(make() for make in self._rude)):
                bus.register(hook, handler, owner="test")
        bus.register("pre_tool_call", slow_policy, owner="test")
        bus.register("transform_llm_output", polite_words, owner="test")

    async def _turn(self, bus: HookBus, stage: Stage, stop: trio.CancelScope) -> None:
        stage.journal.note("run.started", run="r1", session="s1", agent="main")
        state, reason = "stopped", "shutdown"
        try:
            with stop:
                await bus.decide(TOOL)
                await bus.transform(REPLY)
                await trio.sleep(1)
                state, reason = "completed", "ok"
            if stop.cancelled_caught:
                reason = "user_stop"
        finally:
            stage.journal.note("run.ended", run="r1", state=state, reason=reason)
            with trio.move_on_after(5, shield=self._shielded):
                await bus.fire(_event(state))  # noqa: ASYNC102  one test leaves the shield away


def _event(state: str) -> Observation:
    return COMPLETED if state == "completed" else STOPPED


async def slow_policy(tool_name: str) -> dict[str, str]:
    await trio.sleep(0.5)
    return {"action": "allow"}


async def polite_words(response_text: str) -> str:
    await trio.lowlevel.checkpoint()
    return f"{response_text}, please"


@pytest.mark.parametrize(
    "rude",
    [
        pytest.param((), id="nobody is rude"),
        pytest.param((lambda: raising, lambda: hanging), id="raise and hang"),
        pytest.param((lambda: cancelling_its_nursery,), id="cancel"),
        pytest.param((Shielder,), id="shield"),
        pytest.param((Swallower,), id="swallow", marks=pytest.mark.slow),
    ],
)
def test_the_end_of_a_run_is_told_once_wherever_it_is_cut(
    rude: tuple[Callable[[], Callable[..., Any]], ...],
) -> None:
    report = cancel_at_every_step(Run(*rude))
    assert report.ok, report
    assert report.exhaustive
    assert report.runs > 3 * 30  # three modes, and no fewer steps than these


def test_without_a_shield_the_sweep_finds_runs_whose_end_was_told_to_nobody() -> None:
    report = cancel_at_every_step(Run(shielded=False))
    assert {failure.mode for failure in report.failures} == {"outer", "both"}
