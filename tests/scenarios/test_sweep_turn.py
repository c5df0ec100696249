"""Whole turns, cut before each of their steps: by a stop, by a shutdown, and by both at once.

Nothing is simulated but the model and the tools: a real store on a real file, real supervision,
real hooks. After each cut the next process starts on the same file and must find all in order.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import trio

from hermes_actors.actors.driver import drive
from hermes_actors.ports import ModelFailed
from hermes_actors.pure.agent_loop import LoopLimits
from hermes_actors.pure.guardrails import GuardrailLimits, Thresholds
from hermes_actors.pure.tool_rules import ToolRule
from hermes_actors.store import StoreSettings, bindings, inbox, messages
from hermes_actors.store.connection import open_writer
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.sessions import NewSession
from hermes_actors.store.sql import Sql
from hermes_actors.testing.script import Line, Pause, calls
from hermes_actors.testing.sweep import Stage, cancel_at_every_step
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import KEY, World, living_world, until_ended

BESIDE = ToolRule(company="any")
# Thousands of commits: what a disk does with them is tested elsewhere.
IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None


async def slow(arguments: dict[str, Any]) -> str:
    await trio.sleep(2)
    return "done"


async def broken(arguments: dict[str, Any]) -> str:
    await trio.sleep(1)
    return json.dumps({"error": "no"})


class ATurn:
    """A message is answered. If that is cut, the next process must find everything in order."""

    def __init__(self, empty: Path, script: Sequence[Line], loop: LoopLimits) -> None:
        self._empty, self._script, self._loop = empty, script, loop

    async def __call__(self, stage: Stage) -> None:
        stage.world = []
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            path = Path(shutil.copy(self._empty, folder))
            try:
                await self._play(stage, path)
            finally:
                stage.strike.armed = False
                with trio.move_on_after(600, shield=True):
                    await self._start_again(stage, path)

    async def _play(self, stage: Stage, path: Path) -> None:
        async with living_world(path, drive, journal=stage.journal) as world:
            self._prepare(world, stage.world)
            stage.on_stop(world.stop)
            reader = world.watch()
            stage.arm()
            await world.say("go")
            await until_ended(reader)

    async def _start_again(self, stage: Stage, path: Path) -> None:
        stage.journal.note("gateway.started")
        async with living_world(path, drive, journal=stage.journal, again=True) as world:
            self._prepare(world, stage.world)
            await trio.sleep(60)
            assert await world.store.read(inbox.waiting_sessions()) == []

    def _prepare(self, world: World, told: list[str]) -> None:
        async def heard(**given: Any) -> None:
            await trio.lowlevel.checkpoint()
            told.append(given["run_id"])

        world.bus.register("agent_loop_stopped", heard, owner="test")
        world.bus.register("agent_loop_completed", heard, owner="test")
        world.tools = Toolbox(slow=slow, broken=broken)
        world.loop = self._loop
        world.rules = {"slow": BESIDE}
        world.model.script(*self._script)


def every_started_run_was_told_once(stage: Stage) -> None:
    started = [entry["run"] for entry in stage.log.of("run.started")]
    assert sorted(stage.world) == sorted(started)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A store with its schema and nothing in it, to be copied for each run."""
    path = tmp_path / "empty.db"
    db = open_writer(StoreSettings(path=str(path)))
    with db:
        _remember_a_long_talk(db)
    db.close()
    return path


def _remember_a_long_talk(sql: Sql) -> None:
    """Enough of a history that it can be made smaller."""
    session = NewSession(id="long ago", session_key=KEY, agent_id="main", platform="test")
    bindings.open_session.within(sql, session, now=1.0)
    said = [
        NewMessage(role="user" if number % 2 == 0 else "assistant", content=f"{number} " * 40)
        for number in range(24)
    ]
    messages.append.within(sql, "long ago", said, now=1.0)


TURNS: dict[str, tuple[Sequence[Line], LoopLimits]] = {
    "words": ([["Hello ", Pause(1), "you."]], LoopLimits()),
    "tools side by side": (
        [["Wait. ", calls("slow"), calls("slow", x=2)], "Done."],
        LoopLimits(),
    ),
    "a guardrail": (
        [[calls("broken")], [calls("broken")], [calls("broken")]],
        LoopLimits(
            guardrails=GuardrailLimits(hard_stop_after=Thresholds(2, 8, 5)),
        ),
    ),
    "a failing provider": (
        [["Half ", ModelFailed("unreachable", "reset")], "a sentence."],
        LoopLimits(),
    ),
    "a compaction": (
        [["Much was ", Pause(1), "said."], "Shorter now."],
        LoopLimits(compact_at=50, compactions=1),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TURNS)
def test_every_run_that_began_has_one_end_and_one_hook_wherever_it_is_cut(
    name: str, empty: Path
) -> None:
    turn = ATurn(empty, *TURNS[name])
    report = cancel_at_every_step(turn, verify=every_started_run_was_told_once)
    assert report.ok, str(report)
    assert report.exhaustive
