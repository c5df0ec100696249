from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from hermes_actors.hooks import RegistrationRefused
from hermes_actors.hooks.events import AgentLoopStarted, AgentLoopStopped
from hermes_actors.hooks.plugins import PluginContext
from hermes_actors.testing import EventLog, installed, recorded

BEGUN = AgentLoopStarted(session_key="s", platform="chat", agent_id="main", run_id="r")
STOPPED = AgentLoopStopped(
    session_key="s",
    platform="chat",
    reason="Stop requested",
    invalidation_reason="stop_command",
    agent_id="main",
    run_id="r",
    kind="stopped",
    cause="user_stop",
    phase="streaming",
    duration_ms=12,
)


class Ledger:
    """A plugin with one of each thing that it can bring."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __call__(self, ctx: PluginContext) -> None:
        ctx.hook("agent_loop_stopped", self.on_stop)
        ctx.tool("add", self.add, description="Add numbers.")
        ctx.command("stops", self.stops, description="How often?")
        self.tone = ctx.settings.get("tone", "plain")

    async def on_stop(self, run_id: str, cause: str) -> None:
        await trio.sleep(1)
        self.heard.append(f"{run_id}: {cause}")

    def add(self, arguments: dict[str, Any]) -> int:
        return int(sum(arguments.values()))

    def stops(self, raw_args: str) -> str:
        return f"{len(self.heard)} {raw_args}"


async def test_a_plugin_hears_its_hooks_and_brings_its_tools_and_commands(
    autojump_clock: MockClock,
) -> None:
    ledger = Ledger()
    async with installed(ledger, {"tone": "warm"}) as plugin:
        await plugin.bus.fire(BEGUN)
        await plugin.bus.fire(STOPPED)
        assert plugin.tool("add")({"a": 1, "b": 2}) == 3
        assert plugin.command("stops")("so far") == "1 so far"
    assert ledger.heard == ["r: user_stop"]
    assert ledger.tone == "warm"


async def test_a_handler_that_fails_or_hangs_is_in_the_log_and_not_in_the_way(
    autojump_clock: MockClock,
) -> None:
    async def hang(**event: Any) -> None:
        await trio.sleep_forever()

    async def fail(**event: Any) -> None:
        await trio.lowlevel.checkpoint()
        raise ValueError("plugin bug")

    def register(ctx: PluginContext) -> None:
        ctx.hook("agent_loop_stopped", hang)
        ctx.hook("agent_loop_stopped", fail)

    log = EventLog()
    async with installed(register, journal=recorded(log)) as plugin:
        await plugin.bus.fire(STOPPED)
        assert trio.current_time() <= 2
    assert {entry["handler"].rpartition(".")[2] for entry in log.of("hook.failed")} == {
        "hang",
        "fail",
    }


async def test_a_mistake_in_a_plugin_is_raised_where_it_is_installed(
    autojump_clock: MockClock,
) -> None:
    def register(ctx: PluginContext) -> None:
        ctx.hook("agent_loop_stoped", lambda: None)

    with pytest.raises(RegistrationRefused, match="agent_loop_stopped"):
        async with installed(register):
            pass
