"""A turn, cut before each of its steps: by a stop, by a shutdown, and by both at once."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import trio

from hermes_actors.actors.turn import Turn
from hermes_actors.pure.endings import OK
from hermes_actors.store import inbox
from hermes_actors.testing.sweep import Stage, cancel_at_every_step
from hermes_actors.values import TextDelta
from tests.hermes_actors.actors.world import World, living_world, until_ended


async def speaks_and_uses_tools(turn: Turn) -> None:
    """Streams, runs two tools side by side, streams again."""
    turn.enter("streaming")
    turn.voice.hear(TextDelta("one moment "))
    await trio.sleep(1)
    turn.voice.end_segment()
    turn.enter("tools")
    async with trio.open_nursery() as nursery:
        for number in (1, 2):
            nursery.start_soon(_tool, turn, f"call-{number}")
    turn.enter("streaming")
    turn.voice.hear(TextDelta("done"))
    await trio.sleep(1)
    turn.finish(OK, turn.voice.end_segment(), said=True)


async def _tool(turn: Turn, call: str) -> None:
    journal = turn.house.journal
    journal.note("child.started", run=turn.run_id, child=call)
    try:
        with turn.calling(call, "sleep"):
            await trio.sleep(2)
    finally:
        journal.note("child.ended", run=turn.run_id, child=call)


class ATurn:
    """A message is answered. If that is cut, the next process must find everything in order."""

    async def __call__(self, stage: Stage) -> None:
        stage.world = []
        with tempfile.TemporaryDirectory() as folder:
            try:
                await self._play(stage, Path(folder) / "db")
            finally:
                with trio.move_on_after(600, shield=True):
                    await self._start_again(stage, Path(folder) / "db")

    async def _play(self, stage: Stage, path: Path) -> None:
        async with living_world(path, speaks_and_uses_tools, journal=stage.journal) as world:
            self._listen(world, stage.world)
            stage.on_stop(world.stop)
            reader = world.watch()
            stage.arm()
            await world.say("go")
            await until_ended(reader)

    async def _start_again(self, stage: Stage, path: Path) -> None:
        stage.strike.armed = False
        stage.journal.note("gateway.started")
        async with living_world(path, speaks_and_uses_tools, journal=stage.journal) as world:
            self._listen(world, stage.world)
            await trio.sleep(60)
            assert await world.store.read(inbox.waiting_sessions()) == []

    def _listen(self, world: World, told: list[str]) -> None:
        async def heard(**given: Any) -> None:
            await trio.lowlevel.checkpoint()
            told.append(given["run_id"])

        world.bus.register("agent_loop_stopped", heard, owner="test")
        world.bus.register("agent_loop_completed", heard, owner="test")


def every_started_run_was_told_once(stage: Stage) -> None:
    started = [entry["run"] for entry in stage.log.of("run.started")]
    assert sorted(stage.world) == sorted(started)


@pytest.mark.slow
def test_every_run_that_began_has_one_end_and_one_hook_wherever_it_is_cut() -> None:
    report = cancel_at_every_step(ATurn(), verify=every_started_run_was_told_once)
    assert report.ok, report
    assert report.exhaustive
