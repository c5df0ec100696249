"""`/stop`: the answer is proof, whatever the run was doing, and whoever was faster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.actors.receipts import Answered
from hermes_actors.actors.turn import Turn
from hermes_actors.pure.endings import OK
from hermes_actors.store import inbox, runs
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.script import HANG, calls
from tests.hermes_actors.actors.commands.office import living_town
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import KEY

PROOF = "Nothing of this run is active any more, and nothing was sent after the stop."


async def never(arguments: dict[str, Any]) -> str:
    await trio.sleep_forever()
    return ""


@pytest.mark.parametrize(
    ("script", "report"),
    [
        ([HANG], f"Stopped. Cancelled: the model call. {PROOF}"),
        (["Half a sente", HANG], f"Stopped. Cancelled: the model call. {PROOF}"),
        ([calls("never")], f"Stopped. Cancelled: 1 tool call (never). {PROOF}"),
    ],
)
async def test_the_answer_to_stop_is_the_report_of_a_run_that_has_ended(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, script: Any, report: str
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen("agent_loop_stopped")
        town.tools = Toolbox(never=never)
        town.model.script(script)
        await town.begin("go")
        assert await town.say("/stop") == Answered(KEY, report, run="run-2")
        assert town.model.connections == 0
        assert [given["cause"] for _, given in town.heard] == ["user_stop"]
        run = await town.store.read(runs.get("run-2"))
        assert (run.state, run.hook_fired) == ("stopped", True)


async def test_a_second_stop_waits_for_the_same_end_and_fires_nothing_twice(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen("agent_loop_stopped")
        town.model.script([HANG])
        await town.begin("go")
        answers: list[str] = []

        async def stop() -> None:
            answers.append(await town.answer("/stop"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(stop)
            nursery.start_soon(stop)
        assert answers == [f"Stopped. Cancelled: the model call. {PROOF}"] * 2
        assert len(town.heard) == 1


async def test_a_stop_keeps_what_waits_and_stop_all_drops_it_with_one_word_each(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen("message_withdrawn")
        town.model.script([HANG], [HANG])
        await town.begin("go")
        await town.say("one")
        await town.say("two")
        assert "2 messages still queued; /stop all drops them too." in await town.answer("/stop")
        await wait_all_tasks_blocked()
        await town.say("three")
        assert "2 queued messages dropped." in await town.answer("/stop all")
        await wait_all_tasks_blocked()
        assert [given["message_id"] for _, given in town.heard] == ["m3", "m5"]
        assert await town.store.read(inbox.queued(KEY)) == []
        assert town.look().state == "idle"


async def test_a_run_that_ends_by_itself_while_the_stop_arrives_is_not_called_stopped(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async def ends_slowly(turn: Turn) -> None:
        await trio.sleep(1)
        turn.finish(OK, "There.", said=False)

    async def lingers(**given: Any) -> None:
        await trio.sleep(1)

    async with living_town(tmp_path / "db", ends_slowly, log=log) as town:
        town.bus.register("agent_loop_completed", lingers, owner="test")
        await town.begin("go")
        await trio.sleep(1.5)
        assert town.look().state == "stopping"
        assert await town.say("/stop") == Answered(
            KEY, "The run had come to its end by itself, so there was nothing left to stop."
        )


async def test_a_stop_while_nothing_runs_tells_what_waits_and_with_all_takes_it_back(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log, batch_delay=5.0) as town:
        town.listen("message_withdrawn", "agent_loop_stopped")
        await town.say("wait")
        await wait_all_tasks_blocked()
        nothing = "Nothing is running here, so there was nothing to stop."
        assert await town.answer("/stop") == (
            f"{nothing} Messages still queued: 1; /stop all drops them."
        )
        assert await town.answer("/stop all") == f"{nothing} Queued messages dropped: 1."
        assert [hook for hook, _ in town.heard] == ["message_withdrawn"]
        await trio.sleep(10)
        assert town.model.requests == []


async def test_a_stop_whose_asker_leaves_has_stopped_the_run_all_the_same(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async def lingers(**given: Any) -> None:
        await trio.sleep(1)

    async with living_town(tmp_path / "db", log=log) as town:
        town.bus.register("agent_loop_stopped", lingers, owner="test")
        town.model.script([HANG])
        await town.begin("go")
        with trio.move_on_after(0.5) as asker:
            await town.say("/stop")
        assert asker.cancelled_caught
        assert town.look().state == "stopping"
        await trio.sleep(1)
        assert (await town.store.read(runs.get("run-2"))).state == "stopped"
        assert town.look().state == "idle"
