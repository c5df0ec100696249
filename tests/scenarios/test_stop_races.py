"""Stops that come twice, too late, or in the very moment in which the run ends by itself."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.happenings import RunEnded, Seen
from hermes_actors.pure.stop_report import NOTHING_RUNS
from hermes_actors.store import StoreSettings, runs
from hermes_actors.store.connection import open_writer
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.invariants import assert_invariants
from hermes_actors.testing.script import HANG
from hermes_actors.testing.sweep import Stage, cancel_at_every_step
from tests.hermes_actors.actors.commands.office import Town, living_town
from tests.hermes_actors.actors.world import until_ended
from tests.scenarios.stopping import Observed

# Hundreds of gateways: what a disk does with them is tested elsewhere.
IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


@pytest.fixture
def log() -> Iterator[EventLog]:
    log = EventLog()
    yield log
    assert_invariants(log)


async def test_of_two_stops_the_second_finds_nothing_running(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        seen = Observed(town, log)
        town.model.script([HANG], "All well.")
        await town.begin("go")
        stop = await seen.stop()
        assert await town.answer("/stop") == NOTHING_RUNS
        assert await town.answer("/stop all") == NOTHING_RUNS
        assert len(town.heard) == 1
        await seen.goes_on(stop.hook["run_id"], "All well.")


class Race:
    """A run that answers at once, with a stop at any step of it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def __call__(self, stage: Stage) -> None:
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            path = Path(shutil.copy(self._path, folder))
            async with living_town(path, journal=stage.journal) as town:
                town.model.script("Done.")
                town.listen("agent_loop_stopped", "agent_loop_completed")
                reader = town.watch()
                hits: list[str | None] = []
                stage.on_stop(lambda: hits.append(town.stop()))
                stage.world = town, hits
                stage.arm()
                await town.say("go")
                seen = await until_ended(reader)
                await self._has_one_end(town, seen, hits)

    async def _has_one_end(self, town: Town, seen: list[Seen], hits: list[str | None]) -> None:
        end, (run,) = seen[-1], await town.store.read(runs.of_session("session-1"))
        assert isinstance(end, RunEnded)
        assert (run.state, run.reason) == (end.state, end.reason)
        expected = "stopped" if any(hits) else "completed"
        assert [name for name, _ in town.heard] == [f"agent_loop_{expected}"]
        assert (run.state, run.hook_fired) == (expected, True)
        await wait_all_tasks_blocked()
        assert await town.answer("/stop") == NOTHING_RUNS


@pytest.mark.slow
def test_a_stop_at_every_step_up_to_the_last_commit_and_after_gives_exactly_one_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "empty.db"
    open_writer(StoreSettings(path=str(path))).close()
    report = cancel_at_every_step(Race(path), modes=("turn",))
    assert report.ok, str(report)
    assert report.exhaustive
