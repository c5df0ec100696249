"""A message for a conversation that is busy: queued, told to the run, or put in its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.actors.receipts import Kept
from hermes_actors.actors.signals import Steer
from hermes_actors.actors.taking import Manners
from hermes_actors.pure.agent_loop.words import STEER_CLOSE, STEER_OPEN
from hermes_actors.pure.session_keys import Grouping
from hermes_actors.store import inbox, runs
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.invariants import assert_invariants
from hermes_actors.testing.script import HANG, Pause, calls
from hermes_actors.values import Source
from tests.hermes_actors.actors.commands.office import Town, living_town
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import KEY

TOLD = (
    "The run in progress will read this with its next tool result. If there is none any more, it "
    "is answered afterwards."
)


@pytest.fixture
def log() -> Iterator[EventLog]:
    log = EventLog()
    yield log
    assert_invariants(log, complete=not log.stays_open)


async def slow(arguments: dict[str, Any]) -> str:
    await trio.sleep(10)
    return json.dumps({"done": arguments["what"]})


async def fate(town: Town, key: str) -> tuple[str, str | None]:
    found = await town.store.read(inbox.find(key))
    assert found is not None
    return found.state.value, found.run_id


async def test_queued_is_said_after_the_commit_and_with_the_place(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script([Pause(5), "One."], "Two.", "Three.")
        assert await town.say("one") == Kept(KEY, "main")
        await wait_all_tasks_blocked()
        for number in (1, 2):
            assert await town.say("more", key=f"q{number}") == Kept(
                KEY,
                "main",
                text=f"Queued as number {number}: it is answered after the run in progress.",
            )
        assert await town.say("more", key="q1") == Kept(KEY, "main", again=True)
        await trio.sleep(10)
        assert await fate(town, "q2") == ("answered", "run-6")


async def test_a_steer_lands_inside_the_next_tool_result_and_is_answered_by_that_run(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log, busy="steer") as town:
        town.tools = Toolbox(slow=slow)
        town.model.script([calls("slow", what="a"), calls("slow", what="b")], "Green tea.")
        await town.begin("make tea")
        assert await town.ack("green, please") == TOLD
        assert await town.ack("and hot") == TOLD
        await trio.sleep(60)
        lines = await town.lines("session-1")
        assert [role for role, _ in lines] == ["user", "assistant", "tool", "tool", "assistant"]
        assert STEER_OPEN not in (lines[2][1] or "")
        assert (lines[3][1] or "").endswith(f"{STEER_OPEN}\ngreen, please\nand hot\n{STEER_CLOSE}")
        assert [await fate(town, key) for key in ("m2", "m3")] == [("answered", "run-2")] * 2
        assert len(await town.store.read(runs.of_session("session-1"))) == 1


async def test_a_steer_that_finds_no_tool_result_is_the_next_message(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script([Pause(5), "Black tea."], "Green tea.")
        await town.begin("make tea")
        assert await town.ack("/steer green, please") == TOLD
        await trio.sleep(10)
        assert await town.lines("session-1") == [
            ("user", "make tea"),
            ("assistant", "Black tea."),
            ("user", "green, please"),
            ("assistant", "Green tea."),
        ]


async def test_a_steer_into_a_run_that_is_stopped_is_not_lost(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log, busy="steer") as town:
        town.tools = Toolbox(slow=slow)
        town.model.script([calls("slow", what="a")], "Green tea.")
        await town.begin("make tea")
        await town.ack("green, please")
        assert "1 message still queued" in await town.answer("/stop")
        await wait_all_tasks_blocked()
        assert (await town.lines("session-1"))[-2:] == [
            ("user", "green, please"),
            ("assistant", "Green tea."),
        ]


async def test_a_steer_that_comes_while_the_run_ends_is_queued_and_told_so(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async def lingers(**given: Any) -> None:
        await trio.sleep(1)

    async with living_town(tmp_path / "db", log=log, busy="steer") as town:
        town.bus.register("agent_loop_completed", lingers, owner="test")
        town.model.script("One.", "Two.")
        await town.say("count")
        await wait_all_tasks_blocked()
        assert town.look().state == "stopping"
        assert await town.ack("more") == (
            "The run in progress can take nothing more in. "
            "Queued as number 1: it is answered after the run in progress."
        )
        await trio.sleep(5)
        assert (await town.lines("session-1"))[-1] == ("assistant", "Two.")


async def test_an_interrupt_stops_the_run_as_superseded_and_comes_next(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log, busy="interrupt") as town:
        town.listen("agent_loop_stopped")
        town.model.script([HANG], "Green tea.")
        await town.begin("make tea")
        assert await town.ack("no, green") == "Stopping the run in progress; this comes next."
        await wait_all_tasks_blocked()
        assert [given["cause"] for _, given in town.heard] == ["superseded"]
        lines = await town.lines("session-1")
        assert lines[-2:] == [("user", "no, green"), ("assistant", "Green tea.")]
        assert (lines[1][1] or "").startswith("Stopped: your newer message takes over.")
        assert [await fate(town, key) for key in ("m1", "m2")] == [
            ("stopped", "run-2"),
            ("answered", "run-4"),
        ]


async def test_the_same_message_again_interrupts_nothing(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log, busy="interrupt") as town:
        town.model.script([HANG])
        await town.say("make tea", key="k")
        await wait_all_tasks_blocked()
        assert await town.say("make tea", key="k") == Kept(KEY, "main", again=True)
        assert town.look().state == "running"


async def test_in_a_shared_conversation_words_carry_the_name_of_who_said_them(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    ada = Source(platform="test", chat_id="g", chat_type="group", user_id="u1", user_name="Ada")
    bo = Source(platform="test", chat_id="g", chat_type="group", user_id="u2", user_name="B\no")
    shared = Manners(grouping=Grouping(group_sessions_per_user=False))
    async with living_town(tmp_path / "db", log=log, busy="steer", manners=shared) as town:
        town.tools = Toolbox(slow=slow)
        town.model.script([calls("slow", what="tea")], "Here.")
        await town.say("make tea", source=ada)
        await wait_all_tasks_blocked()
        assert await town.ack("green!", bo) == TOLD
        await trio.sleep(60)
        lines = await town.lines("session-1")
        assert lines[0] == ("user", "[Ada] make tea")
        assert f"{STEER_OPEN}\n[B o] green!\n{STEER_CLOSE}" in (lines[2][1] or "")


async def test_a_steer_for_a_run_that_is_over_is_not_taken_by_the_next_one(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.", [HANG])
        await town.talk("one")
        await town.begin("two")
        late, right = Steer(9, "green", "run-2"), Steer(9, "green", "run-4")
        for steer in (late, right):
            town.sessions.ref(KEY).signal(steer)
        assert (late.taken, right.taken) == (False, True)
