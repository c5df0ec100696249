"""When you say stop, it has stopped: in every phase of a run, over real wires where there are some.

Each test sends `/stop` as a person does. When that is answered, nothing of the run is alive: the
model's server has lost its connection, no tool begins, the feed has ended, the hook has been told
once and with the phase, the transcript is valid as it is stored, and the next message gets a turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.happenings import Words
from hermes_actors.pure.agent_loop import LoopLimits
from hermes_actors.pure.tool_rules import ToolRule
from hermes_actors.pure.transcript import ACTED, STOPPED
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.invariants import assert_invariants
from hermes_actors.testing.script import HANG, calls
from tests.adapters.raw_server import Behaviour
from tests.hermes_actors.actors.commands.office import living_town
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.scenarios.model_on_a_wire import (
    ModelServer,
    is_busy,
    is_silent,
    says,
    says_half,
    sends_headers_only,
    talks_on,
    wants,
    wired_town,
)
from tests.scenarios.stopping import PROOF, Observed, results, until_phase

BESIDE = ToolRule(company="any")


@pytest.fixture
def log() -> Iterator[EventLog]:
    log = EventLog()
    yield log
    assert_invariants(log)


async def never(arguments: dict[str, Any]) -> str:
    await trio.sleep_forever()
    return ""


async def at_once(arguments: dict[str, Any]) -> str:
    await trio.lowlevel.checkpoint()
    return "done"


async def closed(server: ModelServer, requests: int) -> None:
    """The server has lost its client, and was asked no more often than this."""
    with trio.fail_after(5):
        await server.all_gone()
    assert (server.open, len(server.requests)) == (0, requests)


# The model, over a real socket ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "phase"),
    [
        (is_silent, "waiting"),
        (sends_headers_only, "waiting"),
        (says_half, "streaming"),
        (talks_on, "streaming"),
    ],
    ids=["nothing was said", "only headers came", "half an answer came", "it talks on and on"],
)
async def test_a_stop_while_the_model_is_asked_closes_its_connection(
    tmp_path: Path, log: EventLog, behaviour: Behaviour, phase: str
) -> None:
    async with wired_town(tmp_path, log, behaviour, says("All well.")) as (town, server):
        seen = Observed(town, log)
        await town.say("go")
        await server.asked()
        await until_phase(town, phase)
        stop = await seen.stop()
        await closed(server, requests=1)
        assert stop.report == f"Stopped. Cancelled: the model call. {PROOF}"
        assert stop.told == ("user_stop", phase, [])
        await seen.goes_on(stop.hook["run_id"], "All well.")
        assert [role for role, _ in server.told(1)] == ["user", "assistant", "user"]


async def test_a_stop_while_it_waits_to_try_again_means_that_it_does_not(
    tmp_path: Path, log: EventLog
) -> None:
    async with wired_town(tmp_path, log, is_busy, says("All well.")) as (town, server):
        seen = Observed(town, log)
        await town.say("go")
        async for each in town.watch():
            if isinstance(each.what, Words):
                break  # people are told that it is going to take a while
        stop = await seen.stop()
        await closed(server, requests=1)
        assert stop.told == ("user_stop", "connecting", [])
        await seen.goes_on(stop.hook["run_id"], "All well.")
        assert len(server.requests) == 2


async def test_words_that_had_come_are_kept_and_marked_for_the_next_call(
    tmp_path: Path, log: EventLog
) -> None:
    async with wired_town(tmp_path, log, says_half, says("All well.")) as (town, server):
        seen = Observed(town, log)
        await town.say("go")
        await until_phase(town, "streaming")
        stop = await seen.stop()
        await seen.goes_on(stop.hook["run_id"], "All well.")
        _, (role, kept), _ = server.told(1)
        assert role == "assistant"
        assert kept.startswith("Half a sente")
        assert "[stopped]" in kept.lower()


@pytest.mark.parametrize("behaviour", [is_silent, says_half])
async def test_a_stop_while_a_run_at_its_limit_sums_up_closes_that_connection_too(
    tmp_path: Path, log: EventLog, behaviour: Behaviour
) -> None:
    steps = wants("at_once"), behaviour, says("All well.")
    async with wired_town(tmp_path, log, *steps) as (town, server):
        town.tools, town.loop = Toolbox(at_once=at_once), LoopLimits(max_iterations=1)
        seen = Observed(town, log)
        await town.say("go")
        await server.asked(2)
        await until_phase(town, "waiting" if behaviour is is_silent else "streaming")
        stop = await seen.stop()
        await closed(server, requests=2)
        assert "the model call" in stop.report
        await seen.goes_on(stop.hook["run_id"], "All well.")


@pytest.mark.parametrize("how", ["by itself", "by a command"])
async def test_a_stop_while_the_history_is_summed_up_leaves_it_as_it_was(
    tmp_path: Path, log: EventLog, how: str
) -> None:
    talk = [says(f"Answer {number}. {'word ' * 3000}") for number in range(8)]
    async with wired_town(tmp_path, log, *talk, is_silent, says("All well.")) as (town, server):
        seen = Observed(town, log)
        for number in range(8):
            await town.talk(f"question {number}")
        before = await town.lines("session-1")
        if how == "by itself":
            town.loop = LoopLimits(compact_at=10)
        await town.say("go" if how == "by itself" else "/compress")
        await server.asked(9)
        stop = await seen.stop()
        await closed(server, requests=9)
        assert stop.told == ("user_stop", "compacting", [])
        assert (await town.lines("session-1"))[: len(before)] == before
        town.loop = LoopLimits()
        await seen.goes_on(stop.hook["run_id"], "All well.")


# Before the model ------------------------------------------------------------------------------


async def test_a_message_queued_behind_a_run_is_no_run_and_a_stop_leaves_it_to_its_turn(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        seen = Observed(town, log)
        town.model.script([HANG], "Two.", "All well.")
        await town.begin("one")
        await town.say("two")
        stop = await seen.stop()
        assert stop.report.endswith("1 message still queued; /stop all drops them too.")
        await wait_all_tasks_blocked()
        assert (await town.lines("session-1"))[-2:] == [("user", "two"), ("assistant", "Two.")]
        assert [name for name, _ in town.heard] == ["agent_loop_stopped", "agent_loop_completed"]
        await seen.goes_on(stop.hook["run_id"], "All well.")


async def test_stop_all_takes_back_what_is_queued_and_no_run_begins_for_it(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        seen = Observed(town, log)
        town.listen("message_withdrawn")
        town.model.script([HANG], "All well.")
        await town.begin("one")
        await town.say("two")
        stop = await seen.stop("/stop all")
        assert stop.report.endswith("1 queued message dropped.")
        await wait_all_tasks_blocked()
        heard = sorted(name for name, _ in town.heard)  # told at the same time
        assert heard == ["agent_loop_stopped", "message_withdrawn"]
        await seen.goes_on(stop.hook["run_id"], "All well.")
        assert len(log.of("run.started").entries) == 2


async def test_while_messages_are_still_gathered_nothing_runs_and_stop_all_takes_them_back(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log, batch_delay=5.0) as town:
        town.listen("message_withdrawn", "agent_loop_stopped", "agent_loop_started")
        await town.say("wait")
        await wait_all_tasks_blocked()
        assert (await town.answer("/stop")).startswith("Nothing is running here")
        assert (await town.answer("/stop all")).endswith("Queued messages dropped: 1.")
        await trio.sleep(60)
        assert [name for name, _ in town.heard] == ["message_withdrawn"]
        assert log.of("run.started").kinds() == []


@pytest.mark.parametrize(
    ("hook", "phase"), [("agent_loop_started", "starting"), ("pre_llm_call", "prompt")]
)
async def test_a_stop_before_the_model_is_called_means_that_it_never_is(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, hook: str, phase: str
) -> None:
    async def ponders(**given: Any) -> None:
        await trio.sleep(1.5)

    async with living_town(tmp_path / "db", log=log) as town:
        seen = Observed(town, log)
        town.bus.register(hook, ponders, owner="test")
        town.model.script("All well.")
        await town.begin("go")
        stop = await seen.stop()
        assert trio.current_time() == 0  # the slow hook is not waited for
        assert stop.told == ("user_stop", phase, [])
        assert stop.report == f"Stopped. {PROOF}"
        assert town.model.requests == []
        await seen.goes_on(stop.hook["run_id"], "All well.")


# Tools -----------------------------------------------------------------------------------------


async def test_a_stop_cuts_a_tool_that_waits_and_names_it(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        seen = Observed(town, log)
        town.tools = Toolbox(never=never)
        town.model.script(["Let me see. ", calls("never")], "All well.")
        await town.begin("go")
        stop = await seen.stop()
        assert stop.told == ("user_stop", "tools", ["never"])
        assert stop.report == f"Stopped. Cancelled: 1 tool call (never). {PROOF}"
        await seen.goes_on(stop.hook["run_id"], "All well.")


async def test_a_stop_between_two_tools_means_that_the_second_never_begins(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async def thinks_about_it(**given: Any) -> None:
        await trio.sleep(1.5)

    async with living_town(tmp_path / "db", log=log) as town:
        seen = Observed(town, log)
        town.bus.register("post_tool_call", thinks_about_it, owner="test")
        town.tools = Toolbox(at_once=at_once, never=never)
        town.model.script([calls("at_once"), calls("never")], "All well.")
        await town.begin("go")
        stop = await seen.stop()
        assert stop.told == ("user_stop", "tools", [])
        assert town.tools.called == ["at_once"]
        assert await results(town) == [ACTED, STOPPED]
        await seen.goes_on(stop.hook["run_id"], "All well.")


async def test_a_stop_cuts_all_tools_that_run_side_by_side_and_keeps_what_was_done(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        seen = Observed(town, log)
        town.tools, town.rules = (
            Toolbox(never=never, at_once=at_once),
            {"never": BESIDE, "at_once": BESIDE},
        )
        town.model.script([calls("never", x=1), calls("at_once"), calls("never", x=2)], "All well.")
        await town.begin("go")
        stop = await seen.stop()
        assert stop.told == ("user_stop", "tools", ["never", "never"])
        assert stop.report == f"Stopped. Cancelled: 2 tool calls (never ×2). {PROOF}"
        await seen.goes_on(stop.hook["run_id"], "All well.")


async def test_a_call_that_was_done_before_the_stop_is_told_as_done(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        seen = Observed(town, log)
        town.tools = Toolbox(at_once=at_once, never=never)
        town.model.script([calls("at_once"), calls("never")], "All well.")
        await town.begin("go")
        stop = await seen.stop()
        assert stop.told == ("user_stop", "tools", ["never"])
        assert await results(town) == ["done", STOPPED]
        await seen.goes_on(stop.hook["run_id"], "All well.")
