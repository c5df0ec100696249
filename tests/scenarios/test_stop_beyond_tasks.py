"""A stop of what is no task: a thread, which cannot be ended, and a process, which can."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec import structs

from hermes_actors.actors.house import Limits
from hermes_actors.actors.plugin_tools import PluginTools
from hermes_actors.hooks.contributions import PluginTool
from hermes_actors.pure.transcript import LEFT_BEHIND
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.invariants import assert_invariants
from hermes_actors.testing.script import HANG, calls
from tests.hermes_actors.actors.commands.office import living_town
from tests.scenarios.stopping import PROOF, Observed, results, until_phase


@pytest.fixture
def log() -> Iterator[EventLog]:
    log = EventLog()
    yield log
    assert_invariants(log)


def _plugin(name: str, handler: Any) -> PluginTools:
    tool = PluginTool(name, "test", handler, name, {"type": "object"}, "plugins", False)
    return PluginTools({name: tool}, (), trio.CapacityLimiter(1))


class Stuck:
    """A tool in a thread that does not come back before it is released."""

    def __init__(self) -> None:
        self._began, self._release = threading.Event(), threading.Event()

    def __call__(self, arguments: dict[str, Any]) -> str:
        self._began.set()
        self._release.wait(30)
        return "too late"

    async def began(self) -> None:
        await trio.to_thread.run_sync(self._began.wait, 10)

    def release(self) -> None:
        self._release.set()


LOOSE = (
    "Could not be interrupted, so it may still have an effect: stuck. Its result will not be used."
)


async def test_a_thread_cannot_be_ended_and_the_report_does_not_pretend_that_it_was(
    tmp_path: Path, log: EventLog
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        seen, stuck = Observed(town, log), Stuck()
        town.tools = _plugin("stuck", stuck)
        town.model.script([calls("stuck")], "All well.")
        await town.say("go")
        await stuck.began()
        stop = await seen.stop()
        assert stop.told == ("user_stop", "tools", ["stuck"])
        assert stop.report == f"Stopped. {LOOSE}"
        assert await results(town) == [LEFT_BEHIND]
        stuck.release()
        await seen.goes_on(stop.hook["run_id"], "All well.")
        assert "too late" not in str(await town.lines("session-1"))


async def test_a_thread_whose_time_was_up_earlier_in_the_run_is_not_forgotten_by_the_report(
    tmp_path: Path, log: EventLog
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.house = structs.replace(town.house, limits=Limits(tool_batch_deadline=0.05))
        seen, stuck = Observed(town, log), Stuck()
        town.tools = _plugin("stuck", stuck)
        town.model.script([calls("stuck")], ["It takes long.", HANG], "All well.")
        await town.say("go")
        await stuck.began()
        await until_phase(town, "streaming")
        stop = await seen.stop()
        assert stop.report == f"Stopped. Cancelled: the model call. {LOOSE}"
        stuck.release()
        await seen.goes_on(stop.hook["run_id"], "All well.")


async def test_a_process_that_a_tool_has_started_is_gone_when_the_stop_is_answered(
    tmp_path: Path, log: EventLog
) -> None:
    started = list[trio.Process]()

    async def runs_a_program(arguments: dict[str, Any]) -> str:
        async with trio.open_nursery() as nursery:
            command = [sys.executable, "-c", "import time; time.sleep(600)"]
            started.append(await nursery.start(trio.run_process, command))
        return "never reached"

    async with living_town(tmp_path / "db", log=log) as town:
        seen = Observed(town, log)
        town.tools = _plugin("runs_a_program", runs_a_program)
        town.model.script([calls("runs_a_program")], "All well.")
        await town.say("go")
        while not started:  # noqa: ASYNC110  a real process needs real time
            await trio.sleep(0.001)
        assert started[0].poll() is None
        stop = await seen.stop()
        assert started[0].returncode is not None
        assert stop.report == f"Stopped. Cancelled: 1 tool call (runs_a_program). {PROOF}"
        await seen.goes_on(stop.hook["run_id"], "All well.")
