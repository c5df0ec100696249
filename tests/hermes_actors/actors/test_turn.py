"""A run and its one way out: who wins, what is stored, what is told, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.actors.house import Limits
from hermes_actors.actors.turn import Turn
from hermes_actors.happenings import RunEnded
from hermes_actors.pure.endings import OK, ending
from hermes_actors.store import messages, runs
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.invariants import assert_invariants
from hermes_actors.values import TextDelta
from tests.hermes_actors.actors.world import World, living_world, until_ended, words


@pytest.fixture
def log() -> Iterator[EventLog]:
    log = EventLog()
    yield log
    assert_invariants(log)


async def echo(turn: Turn) -> None:
    turn.enter("streaming")
    turn.voice.hear(TextDelta(f"you said {turn.order.text}"))
    await trio.sleep(1)
    turn.finish(OK, turn.voice.end_segment(), said=True)


async def waits_in_a_tool(turn: Turn) -> None:
    turn.voice.hear(TextDelta("let me "))
    turn.enter("tools")
    calls = turn.calls
    with calls.under_way("call-1", "terminal"), calls.under_way("call-2", "camera", remote=True):
        await trio.sleep_forever()


async def halts(turn: Turn) -> None:
    await trio.lowlevel.checkpoint()
    turn.finish(
        ending("guardrail"), "terminal failed 5 times (repeated_exact_failure_block)", said=False
    )


async def crashes(turn: Turn) -> None:
    await trio.lowlevel.checkpoint()
    raise ValueError("a bug")


async def forgets_to_end(turn: Turn) -> None:
    await trio.lowlevel.checkpoint()


class Hooks:
    """Remembers the terminal hooks, with all their arguments."""

    def __init__(self, world: World) -> None:
        self.fired: list[tuple[str, dict[str, Any]]] = []
        for name in ("agent_loop_started", "agent_loop_completed", "agent_loop_stopped"):
            self._listen(world, name)

    def _listen(self, world: World, name: str) -> None:
        async def remember(**given: Any) -> None:
            self.fired.append((name, given))

        world.bus.register(name, remember, owner="test")

    def names(self) -> list[str]:
        return [name for name, _ in self.fired]


async def lines(world: World) -> list[tuple[str, str | None]]:
    found = await world.store.read(messages.transcript("session-1"))
    return [(line.role, line.content) for line in found]


async def test_an_answer_is_streamed_stored_and_told_once(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", echo, log=log) as world:
        hooks = Hooks(world)
        await world.say("hello")
        seen = await until_ended(world.watch())
        assert words(seen) == "you said hello"
        assert seen[-1] == RunEnded("run-2", "completed", "ok", "you said hello")
        assert hooks.names() == ["agent_loop_started", "agent_loop_completed"]
        assert await lines(world) == [("user", "hello"), ("assistant", "you said hello")]
        run = await world.store.read(runs.get("run-2"))
        assert (run.state.value, run.reason, run.hook_fired) == ("completed", "ok", True)


async def test_a_stop_cuts_everything_and_names_what_it_cut(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", waits_in_a_tool, log=log) as world:
        hooks = Hooks(world)
        await world.say("go")
        await wait_all_tasks_blocked()
        await world.say("and then?")
        assert world.stop() == "run-2"
        assert world.look().state == "stopping"
        assert world.stop() is None
        seen = await until_ended(world.watch())
        assert words(seen) == (
            "let me \n\nStopped. Cancelled: 1 tool call (terminal), 1 remote call (camera). "
            "Nothing of this run is active any more, and nothing was sent after the stop. "
            "1 message still queued; /stop all drops them too."
        )
        name, given = hooks.fired[1]
        assert name == "agent_loop_stopped"
        assert given == {
            "session_key": "agent:main:test:dm:c1",
            "platform": "test",
            "reason": "Stop requested",
            "invalidation_reason": "stop_command",
            "agent_id": "main",
            "run_id": "run-2",
            "kind": "stopped",
            "cause": "user_stop",
            "phase": "tools",
            "duration_ms": 0,
            "tool_calls": ({"id": "call-1", "name": "terminal"},),
            "remote_calls": ({"id": "call-2", "name": "camera"},),
            "telemetry_schema_version": "hermes.observer.v1",
        }
        await wait_all_tasks_blocked()
        assert world.look().run_id == "run-4"  # the queued message gets a normal turn
        world.stop()
        await wait_all_tasks_blocked()


async def test_a_halt_is_heard_stored_and_told_as_a_halt(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", halts, log=log) as world:
        hooks = Hooks(world)
        await world.say("go")
        seen = await until_ended(world.watch())
        assert words(seen) == "terminal failed 5 times (repeated_exact_failure_block)"
        assert (await lines(world))[-1] == ("assistant", words(seen))
        assert hooks.fired[-1][1]["kind"] == "halted"
        assert hooks.fired[-1][1]["cause"] == "guardrail"


@pytest.mark.parametrize("drive", [crashes, forgets_to_end])
async def test_a_crash_of_the_run_is_told_in_plain_words_and_the_session_lives(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, drive: Any
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        await world.say("go")
        seen = await until_ended(world.watch())
        assert "Something in the gateway itself went wrong" in words(seen)
        assert isinstance(seen[-1], RunEnded)
        assert (seen[-1].state, seen[-1].reason) == ("failed", "internal")
        assert log.of("actor.crashed").kinds() == []


@pytest.mark.parametrize(
    ("limits", "reason", "when"),
    [
        (Limits(turn_deadline=60.0), "deadline", 60.0),
        (Limits(idle_deadline=30.0), "idle", 30.0),
    ],
)
async def test_time_limits_end_a_run_on_the_second(
    tmp_path: Path,
    log: EventLog,
    autojump_clock: MockClock,
    limits: Limits,
    reason: str,
    when: float,
) -> None:
    async with living_world(tmp_path / "db", waits_in_a_tool, log=log, limits=limits) as world:
        await world.say("go")
        await wait_all_tasks_blocked()
        seen = await until_ended(world.watch())
        assert isinstance(seen[-1], RunEnded)
        assert (seen[-1].state, seen[-1].reason) == ("expired", reason)
        assert trio.current_time() == when


async def test_a_stop_that_names_another_run_hits_nothing(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", echo, log=log) as world:
        await world.say("go")
        await wait_all_tasks_blocked()
        assert world.stop(run_id="run-999") is None
        assert words(await until_ended(world.watch())) == "you said go"


async def test_shutdown_stops_a_run_as_shutdown_and_tells_the_hook(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", waits_in_a_tool, log=log) as world:
        hooks = Hooks(world)
        await world.say("go")
        await wait_all_tasks_blocked()
        reader = world.watch()
    assert hooks.names() == ["agent_loop_started", "agent_loop_stopped"]
    assert hooks.fired[-1][1]["cause"] == "shutdown"
    seen = [numbered.what async for numbered in reader]
    assert isinstance(seen[-1], RunEnded)
