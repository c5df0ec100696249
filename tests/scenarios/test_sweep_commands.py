"""Commands and busy modes, raced with a turn at each of its steps, and cut at each of theirs.

In the mode `turn` the deed is done before the k-th step of an ordinary turn. In the mode `outer` it
is done in the middle of the turn, and the gateway is shut down before the k-th step. In `both` the
two happen together. Then a new process must find everything in order.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import trio

from hermes_actors.actors.keeping import BusyMode
from hermes_actors.store import StoreSettings, bindings, inbox, messages, sessions
from hermes_actors.store.connection import open_writer
from hermes_actors.testing.script import calls
from hermes_actors.testing.scripted_model import ScriptedModel
from hermes_actors.testing.sweep import Stage, cancel_at_every_step
from hermes_actors.values import ModelRequest, UserMessage
from tests.hermes_actors.actors.commands.office import Town, living_town
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import KEY

# Thousands of commits: what a disk does with them is tested elsewhere.
IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
HOOKS = (
    "agent_loop_completed",
    "agent_loop_stopped",
    "message_withdrawn",
    "on_session_finalize",
    "on_session_reset",
)


def looks_then_answers(request: ModelRequest) -> Any:
    """Asks for the tool in the first turn only: the second has nothing new to show."""
    return [calls("look")] if request.messages[-1] == UserMessage("go") else "Done."


async def look(arguments: dict[str, Any]) -> str:
    await trio.sleep(1)
    return json.dumps({"seen": "tea"})


class Facts:
    """What the hooks were told, and what the store holds in the end."""

    def __init__(self) -> None:
        self.heard: dict[str, list[dict[str, Any]]] = {name: [] for name in HOOKS}
        self.lines: list[str] = []
        self.rows: list[inbox.InboxMessage] = []
        self.session: sessions.Session | None = None
        self.complete = False

    def of(self, hook: str, name: str) -> list[Any]:
        return [given[name] for given in self.heard[hook]]


class Race:
    """A turn, with another message behind it, and a deed that comes in between."""

    def __init__(
        self, empty: Path, deed: str, *, busy: BusyMode = "queue", behind: bool = True
    ) -> None:
        self._empty, self._deed, self._busy, self._behind = empty, deed, busy, behind

    async def __call__(self, stage: Stage) -> None:
        stage.world = Facts()
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
            path = Path(shutil.copy(self._empty, folder))
            try:
                await self._play(stage, path)
            finally:
                stage.strike.armed = False
                if not stage.world.complete:  # cut: only the next process can tell
                    with trio.move_on_after(600, shield=True):
                        await self._start_again(stage, path)

    async def _play(self, stage: Stage, path: Path) -> None:
        async with living_town(path, journal=stage.journal, busy=self._busy) as town:
            self._prepare(town, stage)
            now = trio.Event()
            stage.on_stop(now.set)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._do, town, stage, now)
                stage.arm()
                await town.say("go", key="first")
                if self._behind:
                    await town.say("/queue more", key="behind")
                await trio.sleep(20)
                nursery.cancel_scope.cancel()
            stage.strike.armed = False
            await trio.sleep(20)  # what was begun in the last step comes to its end
            await self._collect(town, stage.world)

    async def _do(self, town: Town, stage: Stage, now: trio.Event) -> None:
        if stage.mode in ("turn", "both"):
            await now.wait()
        else:
            await trio.sleep(0.5)
        await town.say(self._deed, key="deed")

    async def _start_again(self, stage: Stage, path: Path) -> None:
        stage.journal.note("gateway.started")
        async with living_town(path, journal=stage.journal, again=True) as town:
            self._prepare(town, stage)
            await trio.sleep(60)
            await self._collect(town, stage.world)

    def _prepare(self, town: Town, stage: Stage) -> None:
        facts: Facts = stage.world
        town.tools = Toolbox(look=look)
        town.model = ScriptedModel(otherwise=looks_then_answers, journal=stage.journal)
        for name in HOOKS:
            town.bus.register(name, _remembering(facts.heard[name]), owner="test")

    async def _collect(self, town: Town, facts: Facts) -> None:
        assert await town.store.read(inbox.waiting_sessions()) == []
        bound = await town.store.read(bindings.find(KEY))
        if bound is not None:
            facts.session = await town.store.read(sessions.get(bound.session_id))
        for session in await town.store.read(sessions.latest()):
            lines = await town.store.read(messages.transcript(session.id))
            facts.lines += [line.content or "" for line in lines]
        for key in ("first", "behind", "deed"):
            row = await town.store.read(inbox.find(key))
            facts.rows += [] if row is None else [row]
        facts.complete = True


def _remembering(heard: list[dict[str, Any]]) -> Any:
    async def remember(**given: Any) -> None:
        await trio.lowlevel.checkpoint()
        heard.append(given)

    return remember


# What must be true however it was cut ----------------------------------------------------------


def in_order(stage: Stage) -> None:
    """Every run was told once, every message has its end, every withdrawal was told once."""
    facts: Facts = stage.world
    started = [entry["run"] for entry in stage.log.of("run.started")]
    told = facts.of("agent_loop_stopped", "run_id") + facts.of("agent_loop_completed", "run_id")
    assert sorted(told) == sorted(started)
    withdrawn = [row.key for row in facts.rows if row.state == "withdrawn"]
    assert facts.of("message_withdrawn", "message_id") == withdrawn
    assert {row.state.value for row in facts.rows} <= {"answered", "stopped", "withdrawn"}


def renewed(stage: Stage) -> None:
    """Each conversation that ended was finalized and replaced, once each and in this order."""
    in_order(stage)
    facts: Facts = stage.world
    over = facts.of("on_session_finalize", "session_id")
    assert over == facts.of("on_session_reset", "old_session_id")
    assert facts.session is None or facts.session.ended_at is None
    stopped = Counter(facts.of("agent_loop_stopped", "cause"))
    assert stopped["new_session"] <= 1


def said_once(stage: Stage) -> None:
    """Words that were taken in reach the model exactly once: in a tool result, or as a message."""
    in_order(stage)
    facts: Facts = stage.world
    taken = [row for row in facts.rows if row.key == "deed"]
    assert sum("green tea" in line for line in facts.lines) == len(taken)


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A store with its schema and nothing in it, to be copied for each run."""
    path = tmp_path / "empty.db"
    open_writer(StoreSettings(path=str(path))).close()
    return path


def sweep(race: Race, verify: Any) -> None:
    report = cancel_at_every_step(race, verify=verify)
    assert report.ok, report
    assert report.exhaustive


@pytest.mark.slow
def test_new_at_every_step_of_a_turn(empty: Path) -> None:
    sweep(Race(empty, "/new"), renewed)


@pytest.mark.slow
def test_stop_all_at_every_step_of_a_turn(empty: Path) -> None:
    sweep(Race(empty, "/stop all"), in_order)


@pytest.mark.slow
def test_a_steer_at_every_step_of_a_turn(empty: Path) -> None:
    sweep(Race(empty, "green tea", busy="steer", behind=False), said_once)


@pytest.mark.slow
def test_an_interrupt_at_every_step_of_a_turn(empty: Path) -> None:
    sweep(Race(empty, "green tea", busy="interrupt", behind=False), said_once)
