"""Whole turns: the agent loop, a scripted model, tools, hooks and the store together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.actors.driver import drive
from hermes_actors.happenings import RunEnded, ToolBegan, ToolEnded
from hermes_actors.ports import ModelFailed
from hermes_actors.store import messages, tool_calls
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.invariants import assert_invariants
from hermes_actors.testing.script import HANG, Pause, calls
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import World, living_world, until_ended, words


@pytest.fixture
def log() -> Iterator[EventLog]:
    log = EventLog()
    yield log
    assert_invariants(log)


async def weather(arguments: dict[str, Any]) -> str:
    await trio.sleep(1)
    return json.dumps({"sky": f"blue over {arguments['place']}"})


async def broken(arguments: dict[str, Any]) -> str:
    await trio.lowlevel.checkpoint()
    return json.dumps({"error": "no such thing"})


async def never(arguments: dict[str, Any]) -> str:
    await trio.sleep_forever()
    return ""


async def raises(arguments: dict[str, Any]) -> str:
    await trio.lowlevel.checkpoint()
    raise RuntimeError("inside a tool")


async def lines(world: World) -> list[tuple[str, str | None]]:
    found = await world.store.read(messages.transcript("session-1"))
    return [(line.role, line.content) for line in found]


async def test_a_turn_with_a_tool_keeps_every_line_in_order(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.tools = Toolbox(weather=weather)
        world.model.script(["Let me look. ", calls("weather", place="Rome")], "Blue, as ever.")
        await world.say("how is it in Rome?")
        seen = await until_ended(world.watch())
        assert words(seen) == "Let me look. Blue, as ever."
        assert [type(each) for each in seen if isinstance(each, ToolBegan | ToolEnded)] == [
            ToolBegan,
            ToolEnded,
        ]
        assert await lines(world) == [
            ("user", "how is it in Rome?"),
            ("assistant", "Let me look."),
            ("tool", '{"sky": "blue over Rome"}'),
            ("assistant", "Blue, as ever."),
        ]
        (call,) = await world.store.read(tool_calls.of_run("run-2"))
        assert (call.name, call.outcome) == ("weather", "ok")


async def test_the_next_turn_tells_the_model_what_was_said_before(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.model.script("Hello you.", "Yes.")
        reader = world.watch()
        await world.say("hello")
        await until_ended(reader)
        await world.say("still there?")
        await until_ended(reader)
        told = [getattr(message, "text", "") for message in world.model.requests[1].messages]
        assert told == ["hello", "Hello you.", "still there?"]


async def test_a_tool_that_fails_again_and_again_halts_the_run_with_its_name_and_the_code(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.tools = Toolbox(broken=broken)
        world.model.script(*[[calls("broken", x=1)]] * 9)
        await world.say("try it")
        seen = await until_ended(world.watch())
        assert "broken failed 5 times" in words(seen)
        assert words(seen).count("repeated_exact_failure_block") == 1
        assert isinstance(seen[-1], RunEnded)
        assert (seen[-1].state, seen[-1].reason) == ("halted", "guardrail")
        assert (await lines(world))[-1] == ("assistant", words(seen))
        assert world.tools.called == ["broken"] * 5


@pytest.mark.parametrize(
    ("script", "phase"),
    [
        ([[HANG]], "connecting"),
        ([["Half a sente", HANG]], "streaming"),
        ([[calls("never")]], "tools"),
        ([["Wait. ", calls("never"), calls("weather", place="x")]], "tools"),
    ],
)
async def test_a_stop_in_any_phase_leaves_a_transcript_that_the_next_turn_can_use(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, script: list[Any], phase: str
) -> None:
    phases: list[str] = []

    async def remember(phase: str) -> None:
        phases.append(phase)

    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.bus.register("agent_loop_stopped", remember, owner="test")
        world.tools = Toolbox(never=never, weather=weather)
        world.model.script(*script, "All well again.")
        reader = world.watch()
        await world.say("go")
        await wait_all_tasks_blocked()
        assert world.stop() is not None
        await until_ended(reader)
        await world.say("and now?")
        seen = await until_ended(reader)
        assert words(seen) == "All well again."
    assert phases == [phase]


async def test_a_provider_that_fails_is_told_in_words_and_the_run_is_failed(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.model.script(ModelFailed("unauthorized", "the key was refused"))
        await world.say("go")
        seen = await until_ended(world.watch())
        assert isinstance(seen[-1], RunEnded)
        assert (seen[-1].state, seen[-1].reason) == ("failed", "provider")
        assert words(seen).strip()
        assert words(seen) == seen[-1].text


async def test_a_tool_that_raises_is_an_answer_to_the_model_and_not_a_crash(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.tools = Toolbox(raises=raises)
        world.model.script([calls("raises")], "That did not work.")
        await world.say("go")
        seen = await until_ended(world.watch())
        assert words(seen) == "That did not work."
        assert "RuntimeError: inside a tool" in str(await lines(world))


async def test_a_policy_can_forbid_a_call_and_the_model_hears_why(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:

        async def forbid(tool_name: str) -> dict[str, str]:
            return {"action": "block", "message": f"no {tool_name} today"}

        world.bus.register("pre_tool_call", forbid, owner="test")
        world.tools = Toolbox(weather=weather)
        world.model.script([calls("weather", place="Rome")], "I may not.")
        await world.say("go")
        seen = await until_ended(world.watch())
        assert words(seen) == "I may not."
        assert world.tools.called == []
        assert "no weather today" in str(await lines(world))


async def test_hooks_can_add_to_the_prompt_and_change_the_answer(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:

        async def add() -> str:
            return "It is Monday."

        async def check(response_text: str) -> str:
            return f"[checked] {response_text}"

        world.bus.register("pre_llm_call", add, owner="test")
        world.bus.register("transform_llm_output", check, owner="test")
        world.model.script("Fine.")
        await world.say("how are you?")
        seen = await until_ended(world.watch())
        assert world.model.requests[0].messages[-1].text == "how are you?\n\nIt is Monday."
        assert await lines(world) == [("user", "how are you?"), ("assistant", "[checked] Fine.")]
        assert isinstance(seen[-1], RunEnded)
        assert seen[-1].text == "[checked] Fine."


async def test_messages_that_arrive_meanwhile_are_answered_in_order(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.model.script([Pause(5), "one"], [Pause(5), "two"], "three")
        reader = world.watch()
        for text in ("a", "b", "c"):
            await world.say(text)
        assert await world.say("b", key="m2") is not None  # the same key is the same message
        answers = [words(await until_ended(reader)) for _ in range(3)]
        assert answers == ["one", "two", "three"]
        assert [line for line in await lines(world) if line[0] == "user"] == [
            ("user", "a"),
            ("user", "b"),
            ("user", "c"),
        ]


async def test_thoughts_that_are_never_closed_do_not_swallow_the_next_reply(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_world(tmp_path / "db", drive, log=log) as world:
        world.model.script("<think>and on and on", "The answer.")
        await world.say("go")
        seen = await until_ended(world.watch())
        assert words(seen) == "The answer."
        assert sum("answer" in getattr(each, "text", "") for each in seen[:-1]) == 1
