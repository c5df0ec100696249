"""Every command, during a run and while none is in progress."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.actors.commands.desk import ACTS
from hermes_actors.actors.receipts import Answered
from hermes_actors.pure.command_list import COMMANDS
from hermes_actors.pure.commands import Reaction
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.script import HANG
from tests.hermes_actors.actors.commands.office import living_town

NOT_NOW = "cannot be done while a run is in progress. Wait for its answer, or send /stop first."


def test_every_command_of_the_table_has_somebody_who_carries_it_out() -> None:
    acting = {spec.name for spec in COMMANDS if Reaction.WORK not in (spec.busy, spec.idle)}
    assert set(ACTS) == acting
    assert {spec.name for spec in COMMANDS} - acting == {"queue", "steer", "retry", "compress"}


@pytest.mark.parametrize("command", ["retry", "undo", "resume 1", "branch", "compress"])
async def test_what_cannot_be_done_during_a_run_is_refused_and_changes_nothing(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, command: str
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("Hello.", [HANG])
        await town.talk("hi")
        await town.begin("go on")
        before = await town.lines("session-1")
        assert await town.answer(f"/{command}") == f"/{command.split()[0]} {NOT_NOW}"
        assert town.look().run_id == "run-4"
        assert await town.lines("session-1") == before


IDLE = {
    "stop": "Nothing is running here, so there was nothing to stop.",
    "new": "This is a new conversation. /resume brings the earlier one back.",
    "status": (
        "Nothing is running.\nConversation: session-1, 2 messages\nAgent: main, model: scripted"
    ),
    "help title": (
        "/title [TEXT] - show or set the title of this conversation\n"
        "During a run: Shows or sets the title; the run goes on.\n"
        "Otherwise: Shows or sets the title."
    ),
    "undo": "Taken back: 1 message with all that followed, from “hi” on.",
    "title": "This conversation has no title.",
    "title Tea for two": "Title: Tea for two",
    "resume": (
        "1. session-1, 2 messages, 1970-01-01 00:16 UTC (this one)\n"
        "/resume NUMBER goes back to one of them."
    ),
    "sessions": (
        "1. session-1, 2 messages, 1970-01-01 00:16 UTC (this one)\n"
        "/resume NUMBER goes back to one of them."
    ),
    "branch": (
        "This is a copy of the conversation, 2 messages long. "
        "The original stays as it is; /resume brings it back."
    ),
    "model": "Model: scripted",
    "model other": "Model from the next run on: other",
    "usage": (
        "This conversation has used 0 tokens in (0 of them cached) and 0 out "
        "(0 of them for thinking)."
    ),
    "why": (
        "00:16:40 message m1: “hi” (answered)\n"
        "00:16:40 run run-2 began, agent main\n"
        "00:16:40 completed, ok, after 0.0 s\n"
        "00:16:40 reply to chat c1: queued"
    ),
    "approve": "Nothing waits for an answer here.",
    "deny": "Nothing waits for an answer here.",
    "background look": ("Runs in the background as background-3; its answer is posted here."),
}
DURING_A_RUN = {
    "status": (
        "Running: run-4 (connecting)\n"
        "Conversation: session-1, 3 messages\n"
        "Agent: main, model: scripted"
    ),
    "help title": IDLE["help title"],
    "title": IDLE["title"],
    "title Tea for two": IDLE["title Tea for two"],
    "sessions": IDLE["sessions"].replace("2 messages", "3 messages"),
    "model": IDLE["model"],
    "model other": IDLE["model other"],
    "usage": IDLE["usage"],
    "why": (
        "00:16:40 message m2: “go on” (claimed)\n"
        "00:16:40 run run-4 began, agent main\n"
        "It has not ended yet."
    ),
    "approve": IDLE["approve"],
    "deny": IDLE["deny"],
    "background look": IDLE["background look"].replace("-3", "-5"),
    "new": "This is a new conversation. /resume brings the earlier one back.",
}


@pytest.mark.parametrize("command", IDLE)
async def test_what_a_command_answers_while_nothing_runs(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, command: str
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("Hello.", "Looked.")
        await town.talk("hi")
        assert await town.say(f"/{command}") == Answered("agent:main:test:dm:c1", IDLE[command])


@pytest.mark.parametrize("command", DURING_A_RUN)
async def test_what_a_command_answers_during_a_run(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, command: str
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("Hello.", [HANG], "Looked.")
        await town.talk("hi")
        await town.begin("go on")
        assert await town.answer(f"/{command}") == DURING_A_RUN[command]
        assert town.look().run_id == (None if command == "new" else "run-4")
        assert town.model.connections == (0 if command == "new" else 1)


async def test_queue_and_steer_are_messages_without_the_name_of_the_command(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.", "Two.")
        assert await town.talk("/queue count") == "One."
        assert await town.talk("/steer go on") == "Two."
        assert (await town.lines("session-1"))[::2] == [("user", "count"), ("user", "go on")]


async def test_queue_during_a_run_waits_its_turn_and_says_its_place(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log, busy="interrupt") as town:
        town.model.script([HANG], "One.", "Two.")
        await town.begin("go")
        assert await town.ack("/queue first") == (
            "Queued as number 1: it is answered after the run in progress."
        )
        assert await town.ack("/q second") == (
            "Queued as number 2: it is answered after the run in progress."
        )
        assert town.look().run_id == "run-2"
        assert "2 messages still queued" in await town.answer("/stop")
        await wait_all_tasks_blocked()
        assert [line for line in await town.lines("session-1") if line[0] == "user"] == [
            ("user", "go"),
            ("user", "first"),
            ("user", "second"),
        ]


async def test_retry_takes_the_answer_back_and_asks_again(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.", "Bad.", "Better.")
        await town.talk("count")
        await town.talk("and now?")
        assert await town.talk("/retry") == "Better."
        assert await town.lines("session-1") == [
            ("user", "count"),
            ("assistant", "One."),
            ("user", "and now?"),
            ("assistant", "Better."),
        ]


async def test_retry_with_nothing_to_retry_says_so_without_asking_the_model(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        words = "There is no message of yours here that could be answered again."
        assert await town.talk("/retry") == words
        assert await town.talk("/retry") == words
        assert town.model.requests == []


async def test_compress_is_a_run_of_its_own_that_makes_the_history_shorter(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        assert (await town.talk("/compress")).startswith("Nothing was changed.")
        town.model.script(*["So it is."] * 12, "A short summary.", "Tea.")
        for number in range(12):
            await town.talk(f"{number}: " + "tell me more about tea " * 450)
        before = len(await town.lines("session-1"))
        told = await town.talk("/compress the tea")
        assert told.startswith("Done: the model now reads"), told
        assert len(await town.lines("session-1")) < before
        assert "the tea" in getattr(town.model.requests[-1].messages[-1], "text", "")
        assert await town.talk("which?") == "Tea."


async def test_a_stop_ends_compress_without_a_change(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script(*["So it is."] * 12, [HANG])
        for number in range(12):
            await town.talk(f"{number}: " + "tell me more about tea " * 450)
        before = await town.lines("session-1")
        await town.begin("/compress")
        assert (town.look().phase, await town.ack("wait")) == (
            "compacting",
            "Queued as number 1: it is answered after the run in progress.",
        )
        assert (await town.answer("/stop all")).startswith("Stopped.")
        assert (await town.lines("session-1"))[: len(before)] == before
        assert town.model.connections == 0


async def test_an_unknown_command_and_a_missing_text_are_answered_and_kept_from_the_model(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        assert "Did you mean /stop?" in await town.answer("/stpo")
        assert await town.answer("/queue") == "Write it like this: /queue TEXT"
        assert town.model.requests == []


async def test_a_command_that_the_platform_sends_again_is_one_command(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.", "Two.", [HANG], [HANG])
        await town.talk("first")
        await town.talk("second")
        told = [await town.say("/undo", key="again") for _ in range(2)]
        assert told[0] == told[1]
        assert await town.lines("session-1") == [("user", "first"), ("assistant", "One.")]
        await town.begin("third")
        stopped = await town.say("/stop", key="late")
        await town.begin("fourth")
        assert await town.say("/stop", key="late") == stopped
        assert town.look().state == "running"  # the later run is not the one that was meant


async def test_a_command_whose_asker_left_too_early_is_done_when_it_comes_again(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script([HANG])
        await town.begin("go")
        with trio.CancelScope() as asker:
            asker.cancel()
            await town.say("/stop", key="k")
        assert town.look().state == "running"
        assert (await town.answer("/stop")).startswith("Stopped.")
