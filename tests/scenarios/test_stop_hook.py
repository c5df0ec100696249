"""`agent_loop_stopped`: once for each run that began and did not complete, and with the truth.

The agent that is interrupted here really runs: it waits for a model, or is in the middle of a tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.actors.driver import drive
from hermes_actors.actors.signals import Between
from hermes_actors.happenings import RunEnded
from hermes_actors.pure.stop_report import NOTHING_RUNS
from hermes_actors.store import messages, runs
from hermes_actors.testing.event_log import EventLog, recorded
from hermes_actors.testing.invariants import assert_invariants
from hermes_actors.testing.script import HANG, calls
from hermes_actors.values import Source
from tests.hermes_actors.actors.commands.office import Town, living_town
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import KEY, World, living_world, until_ended
from tests.hermes_actors.hooks.doubles import Shielder, Swallower
from tests.hermes_actors.hooks.misdeeds import hanging, raising
from tests.scenarios.exits import EXITS

HOOK = "agent_loop_stopped"
DOCUMENTED = Path(__file__).parents[2] / "docs" / "hooks.md"


@pytest.fixture
def log() -> Iterator[EventLog]:
    log = EventLog()
    yield log
    assert_invariants(log, complete=not log.stays_open)


async def never(arguments: dict[str, Any]) -> str:
    await trio.sleep_forever()
    return ""


def told(town: Town) -> list[tuple[str, str, str]]:
    """What the hook has been told so far: kind, cause and the tag for existing plugins."""
    return [
        (given["kind"], given["cause"], given["invalidation_reason"])
        for name, given in town.heard
        if name == HOOK
    ]


# A really running agent ------------------------------------------------------------------------


async def test_when_the_hook_hears_of_it_nothing_of_the_run_is_left_and_nobody_has_read_of_it(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    found: list[Any] = []

    async with living_town(tmp_path / "db", log=log) as town:
        reader = town.watch()

        async def looks(run_id: str) -> None:
            run = await town.store.read(runs.get(run_id))
            lines = await town.store.read(messages.of_run(run_id))
            heard = [each.what for each in reader.take_waiting()]
            found.append((town.model.connections, run.state, lines[-1].role))
            found.append(any(isinstance(each, RunEnded) for each in heard))

        town.bus.register(HOOK, looks, owner="test")
        town.model.script(["Half ", HANG])
        await town.begin("go")
        assert town.model.connections == 1  # it really runs
        await town.answer("/stop")
        assert found == [(0, "stopped", "assistant"), False]


async def test_its_arguments_are_exactly_those_that_are_documented(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen(HOOK)
        town.tools = Toolbox(never=never)
        town.model.script([calls("never")])
        await town.begin("go")
        await trio.sleep(3)
        await town.answer("/stop")
        ((_, given),) = town.heard
        assert given == {
            "session_key": KEY,
            "platform": "test",
            "reason": "Stop requested",
            "invalidation_reason": "stop_command",
            "agent_id": "main",
            "run_id": "run-2",
            "kind": "stopped",
            "cause": "user_stop",
            "phase": "tools",
            "duration_ms": 3000,
            "tool_calls": ({"id": "call-1", "name": "never"},),
            "remote_calls": (),
            "telemetry_schema_version": "hermes.observer.v1",
        }
        row = next(line for line in DOCUMENTED.read_text().splitlines() if f"`{HOOK}`" in line)
        named = set(re.findall(r"`(\w+)`", row)) - {HOOK}
        assert set(given) == named | {"telemetry_schema_version"}


# The pending phase -----------------------------------------------------------------------------


async def test_a_message_in_hand_whose_model_was_not_called_is_a_run_and_the_hook_says_starting(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen(HOOK)
        town.bus.register("agent_loop_started", hanging, owner="test")
        await town.begin("go")
        assert town.look().phase == "starting"
        await town.answer("/stop")
        ((_, given),) = town.heard
        assert (given["phase"], given["cause"]) == ("starting", "user_stop")
        assert town.model.requests == []


async def test_a_message_that_was_never_in_hand_is_withdrawn_and_the_hook_hears_nothing(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log, batch_delay=5.0) as town:
        town.listen(HOOK, "message_withdrawn")
        await town.say("go", key="m")
        await wait_all_tasks_blocked()
        await town.answer("/stop all")
        await trio.sleep(60)
        ((name, given),) = town.heard
        assert (name, given["message_id"]) == ("message_withdrawn", "m")


async def test_where_nothing_runs_there_is_no_hook_and_the_answer_says_so(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen(HOOK)
        assert await town.answer("/stop") == NOTHING_RUNS  # before the first word
        town.model.script("Hello.")
        await town.talk("hello")
        assert await town.answer("/stop") == NOTHING_RUNS  # after an answer
        await town.answer("/new")
        assert town.heard == []


# Hooks that misbehave --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("handlers", "seconds"),
    [
        ([raising], 0.0),
        ([hanging], 2.0),
        ([Swallower()], 2.0),
        ([Shielder()], 2.0),
        ([raising, hanging, Swallower(), Shielder()] * 5, 2.0),
    ],
    ids=["raises", "hangs", "swallows cancellation", "hides in a shield", "twenty of them"],
)
async def test_a_hook_that_misbehaves_does_not_hold_the_stop_and_delays_its_report_by_two_seconds(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, handlers: list[Any], seconds: float
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        for handler in handlers:
            town.bus.register(HOOK, handler, owner="test")
        town.listen(HOOK)
        town.model.script([HANG], "All well.")
        await town.begin("go")
        assert (await town.answer("/stop")).startswith("Stopped. Cancelled: the model call.")
        assert trio.current_time() <= seconds
        closed = next(entry for entry in log if entry.kind == "model.closed")
        ended = next(entry for entry in log if entry.kind == "run.ended")
        assert (closed.at, ended.at) == (0.0, 0.0)  # the run itself was over at once
        assert len(town.heard) == 1
        assert await town.talk("and now?") == "All well."


async def test_even_with_both_terminal_hooks_at_their_worst_the_report_comes_within_five_seconds(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        for hook in (HOOK, "on_session_end"):
            for handler in (hanging, Shielder(), Swallower()):
                town.bus.register(hook, handler, owner="test")
        town.model.script([HANG])
        await town.begin("go")
        await town.answer("/stop")
        assert trio.current_time() <= 5.0


# Every cause, once -----------------------------------------------------------------------------


async def test_new_stops_the_run_as_a_new_session_with_the_tag_that_plugins_know(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen(HOOK)
        town.model.script([HANG])
        await town.begin("go")
        await town.answer("/new")
        assert told(town) == [("stopped", "new_session", "new_command")]


async def test_a_newer_message_that_takes_over_stops_the_run_as_superseded(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log, busy="interrupt") as town:
        town.listen(HOOK)
        town.model.script([HANG], "Here.")
        await town.begin("go")
        await town.say("no, this")
        await wait_all_tasks_blocked()
        assert told(town) == [("stopped", "superseded", "superseded")]


async def test_a_shutdown_stops_the_run_and_the_next_start_does_not_tell_it_again(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen(HOOK)
        town.model.script([HANG])
        await town.begin("go")
    assert told(town) == [("stopped", "shutdown", "shutdown")]
    recorded(log).note("gateway.started")
    async with living_town(tmp_path / "db", log=log, again=True) as later:
        later.listen(HOOK)
        await trio.sleep(60)
        assert later.heard == []


async def test_a_session_that_crashes_during_a_run_stops_it_as_its_supervisor_does(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    nonsense: Any = "no reason at all"
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen(HOOK)
        town.model.script([HANG], "All well.")
        await town.begin("go")
        town.sessions.ref(KEY).tell(Between(trio.lowlevel.checkpoint, cuts=nonsense))
        await trio.sleep(60)
        assert log.of("actor.crashed").kinds() == ["actor.crashed"]
        assert told(town) == [("stopped", "supervisor", "supervisor")]
        assert await town.talk("and now?") == "All well."


@pytest.mark.parametrize("cause", EXITS)
async def test_a_run_that_ends_without_an_answer_by_itself_is_told_once_with_kind_and_cause(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, cause: str
) -> None:
    kind, prepare = EXITS[cause]
    heard: list[tuple[str, str, str]] = []

    async def hears(kind: str, cause: str, invalidation_reason: str) -> None:
        await trio.lowlevel.checkpoint()
        heard.append((kind, cause, invalidation_reason))

    def listens(world: World) -> None:
        prepare(world)
        world.bus.register(HOOK, hears, owner="test")

    async with living_world(tmp_path / "db", drive, log=log, prepare=listens) as world:
        reader = world.watch()
        await world.say("go")
        await until_ended(reader)
        await trio.sleep(60)
        assert heard == [(kind, cause, cause)]


# A store that fails ----------------------------------------------------------------------------


def alter(path: Path, statement: str) -> None:
    """Change the database behind the gateway's back."""
    with closing(apsw.Connection(str(path))) as other:
        other.execute(statement)


def refuse(path: Path, column: str) -> None:
    alter(
        path,
        f"CREATE TRIGGER full BEFORE UPDATE OF {column} ON runs "
        "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END",
    )


async def test_a_stop_that_could_not_be_stored_is_stored_later_and_its_message_is_not_run_again(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen(HOOK)
        town.model.script([HANG], "Hello.")
        await town.begin("delete everything")
        refuse(tmp_path / "db", "state")
        assert (await town.answer("/stop")).startswith("Stopped. Cancelled: the model call.")
        assert told(town) == []  # it is not sealed yet
        alter(tmp_path / "db", "DROP TRIGGER full")
        await trio.sleep(60)
        assert told(town) == [("stopped", "user_stop", "stop_command")]
        assert await town.talk("hello") == "Hello."
        roles = [role for role, _ in await town.lines("session-1")]
        assert roles == ["user", "assistant", "user", "assistant"]
        assert len(town.model.requests) == 2


async def test_a_hook_that_is_still_owed_is_fired_by_the_next_start_with_its_own_cause(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    heard: list[tuple[str, str, str]] = []

    async def hears(reason: str, cause: str, kind: str) -> None:
        await trio.lowlevel.checkpoint()
        heard.append((reason, cause, kind))

    def listens(world: World) -> None:
        world.bus.register(HOOK, hears, owner="test")
        world.model.script([HANG])

    async with living_world(tmp_path / "db", drive, log=log, prepare=listens) as world:
        await world.say("go")
        await wait_all_tasks_blocked()
        refuse(tmp_path / "db", "hook_fired")
        assert world.stop() is not None
        await wait_all_tasks_blocked()
        assert heard == []
        alter(tmp_path / "db", "DROP TRIGGER full")
    recorded(log).note("gateway.started")
    async with living_world(tmp_path / "db", drive, log=log, again=True, prepare=listens):
        await trio.sleep(60)
        assert heard == [("Stop requested", "user_stop", "stopped")]


async def test_an_answer_is_no_stop(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen(HOOK, "agent_loop_completed")
        town.model.script("Hello.")
        await town.talk("hello")
        assert [name for name, _ in town.heard] == ["agent_loop_completed"]


async def test_only_the_stopped_conversation_is_told_of(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    other = Source(platform="test", chat_id="c2", user_id="u2")
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen(HOOK)
        town.tools = Toolbox(never=never)
        town.model.script([calls("never")], [calls("never")])
        await town.begin("go")
        await town.say("go", source=other)
        await wait_all_tasks_blocked()
        await town.answer("/stop")
        ((_, given),) = town.heard
        assert given["session_key"] == KEY
        assert town.look("agent:main:test:dm:c2").tools == ("never",)
        log.stays_open = True
