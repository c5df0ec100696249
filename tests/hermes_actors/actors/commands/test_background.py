"""A run beside the conversation, whose answer comes to the same chat."""

from __future__ import annotations

from pathlib import Path

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.actors.commands.background import MOST
from hermes_actors.store import runs
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.script import HANG
from hermes_actors.values import Source
from tests.hermes_actors.actors.commands.office import living_town

API = Source(platform="api", chat_id="c9", user_id="u1")


async def test_it_runs_beside_the_conversation_and_its_answer_is_posted_here(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script([HANG], "Found it.")
        await town.begin("go")
        await town.answer("/background find the tea")
        await wait_all_tasks_blocked()
        assert await town.sent() == ["Found it."]
        assert town.look().run_id == "run-2"
        told = [getattr(message, "text", "") for message in town.model.requests[1].messages]
        assert told == ["find the tea"]
        assert "Found it." not in str(await town.lines("session-1"))


async def test_status_lists_it_stop_leaves_it_alone_and_stop_all_ends_it(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script([HANG])
        await town.answer("/bg look around")
        await wait_all_tasks_blocked()
        assert "In the background: background-1" in await town.answer("/status")
        nothing = "Nothing is running here, so there was nothing to stop."
        assert await town.answer("/stop") == (
            f"{nothing} Background runs that go on: 1; /stop all ends them too."
        )
        assert (await town.store.read(runs.get("run-3"))).state == "running"
        assert "look around" in await town.answer("/why run-3")
        assert await town.answer("/stop all") == "Background runs stopped: 1."
        assert (await town.store.read(runs.get("run-3"))).state == "stopped"
        assert town.model.connections == 0
        assert "background-1" not in await town.answer("/status")


async def test_there_are_only_so_many_at_once_and_a_command_that_comes_twice_is_one(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script(*[[HANG]] * MOST)
        for number in range(MOST):
            await town.say(f"/background {number}", key=f"bg{number}")
            await wait_all_tasks_blocked()
        assert await town.answer("/background more") == (
            f"{MOST} background runs are in progress, which is as many as there may be."
        )
        assert town.model.connections == MOST
        await town.answer("/stop all")
        assert await town.say("/background 0", key="bg0") is not None
        await wait_all_tasks_blocked()
        assert town.model.connections == 0


async def test_where_nothing_can_be_delivered_later_it_is_refused(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        assert await town.answer("/background look", API) == (
            "An answer that comes later cannot be delivered here. Ask it as a message instead."
        )


async def test_the_policies_for_messages_hold_for_it_too(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async def refuse(text: str) -> dict[str, str]:
        await trio.lowlevel.checkpoint()
        return {"action": "skip", "message": f"not {text}"}

    async with living_town(tmp_path / "db", log=log) as town:
        town.bus.register("pre_gateway_dispatch", refuse, owner="test")
        assert await town.answer("/background evil") == "Not started: not evil."
