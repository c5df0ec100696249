"""A new conversation, a step back, a title, a copy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.store import bindings, sessions
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.script import HANG
from tests.hermes_actors.actors.commands.office import Town, living_town
from tests.hermes_actors.actors.world import KEY


async def here(town: Town) -> sessions.Session:
    bound = await town.store.read(bindings.find(KEY))
    assert bound is not None
    return await town.store.read(sessions.get(bound.session_id))


async def test_new_stops_the_run_then_finalizes_then_resets_and_what_waits_is_answered_there(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen("agent_loop_stopped", "on_session_finalize", "on_session_reset")
        town.model.script([HANG], "Here.")
        await town.begin("go")
        await town.say("next")
        told = await town.answer("/new Tea")
        assert told == (
            "This is a new conversation: Tea. /resume brings the earlier one back. "
            "Queued messages that are answered here: 1."
        )
        await wait_all_tasks_blocked()
        assert [(hook, given.get("cause") or given["reason"]) for hook, given in town.heard] == [
            ("agent_loop_stopped", "new_session"),
            ("on_session_finalize", "new_session"),
            ("on_session_reset", "new_session"),
        ]
        fresh = await here(town)
        ids = {"old_session_id": "session-1", "new_session_id": fresh.id}
        for (_, given), about in zip(town.heard[1:], ("session-1", fresh.id), strict=True):
            assert {name: given[name] for name in ids} == ids
            assert (given["session_id"], given["session_key"]) == (about, KEY)
        assert await town.lines(fresh.id) == [("user", "next"), ("assistant", "Here.")]
        old = await town.store.read(sessions.get("session-1"))
        assert (old.end_reason, (await town.lines("session-1"))[-1][1]) == (
            "new_session",
            "Stopped. A new conversation starts here. Cancelled: the model call. Nothing of this "
            "run is active any more, and nothing was sent after the stop. 1 message still queued; "
            "/stop all drops them too.",
        )


async def test_new_is_seen_through_when_whoever_asked_leaves_after_the_stop(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async def lingers(**given: Any) -> None:
        await trio.sleep(1)

    async with living_town(tmp_path / "db", log=log) as town:
        town.bus.register("agent_loop_stopped", lingers, owner="test")
        town.model.script([HANG])
        await town.begin("go")
        with trio.move_on_after(0.5):
            await town.say("/new")
        assert (await here(town)).id != "session-1"
        assert (await town.store.read(sessions.get("session-1"))).end_reason == "new_session"


async def test_the_first_new_of_all_finalizes_nothing(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen("on_session_finalize", "on_session_reset")
        assert await town.answer("/reset") == "This is a new conversation."
        assert town.heard == []


async def test_new_with_a_title_that_is_taken_stops_nothing(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script([HANG])
        await town.begin("go")
        await town.answer("/title Tea")
        assert await town.answer("/new Tea") == (
            "/new could not be done: another conversation has the title 'Tea'"
        )
        assert town.look().state == "running"


async def test_two_new_at_once_are_two_conversations_one_after_the_other(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.listen("on_session_finalize")
        town.model.script([HANG], "Here.")
        await town.begin("go")
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(town.answer, "/new")
        assert len(town.heard) == 2
        assert await town.talk("hello") == "Here."


async def test_undo_takes_back_as_many_as_one_says_and_never_more_than_there_are(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        assert await town.answer("/undo") == "There is nothing to take back."
        town.model.script("One.", "Two.", "Three.", "Four.")
        for text in ("first", "second", "third"):
            await town.talk(text)
        assert await town.answer("/undo two") == (
            "Write it like this: /undo, or /undo 3 for the last three messages."
        )
        assert await town.answer("/undo 2") == (
            "Taken back: 2 messages with all that followed, from “second” on."
        )
        await town.talk("instead")
        told = [getattr(message, "text", "") for message in town.model.requests[-1].messages]
        assert told == ["first", "One.", "instead"]
        await town.answer("/undo 99")
        assert await town.lines("session-1") == []


async def test_a_title_belongs_to_one_conversation(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        assert await town.answer("/title") == "Nothing has been said here yet."
        assert await town.answer("/title  Tea\u0007 time ") == "Title: Tea time"
        assert await town.answer("/title") == "Title: Tea time"
        await town.answer("/new")
        assert await town.answer("/title Tea time") == (
            "/title could not be done: another session has the title 'Tea time'; choose another"
        )


async def test_a_branch_goes_on_by_itself_and_leaves_the_original_alone(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        assert await town.answer("/branch") == "There is nothing to copy yet."
        town.model.script("One.", "Two.")
        await town.talk("first")
        await town.answer("/title Tea")
        assert "copy “Tea #2”" in await town.answer("/branch")
        await town.talk("second")
        copy = await here(town)
        assert (copy.parent_id, copy.message_count) == ("session-1", 4)
        assert await town.lines("session-1") == [("user", "first"), ("assistant", "One.")]
        assert (await town.lines(copy.id))[0] == ("user", "first")


async def test_a_chosen_model_is_used_from_the_next_run_on_and_forgotten_by_new(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.", "Two.", "Three.", "Four.")
        await town.answer("/model better")
        await town.talk("first")
        assert await town.answer("/model two words") == (
            "Write it like this: /model NAME, or /model default. A name has no spaces."
        )
        await town.answer("/model default")
        await town.talk("second")
        await town.answer("/model better")
        await town.answer("/new")
        await town.talk("third")
        assert [request.model for request in town.model.requests] == [
            "better",
            "scripted",
            "scripted",
        ]


@pytest.mark.parametrize("command", ["/new", "/branch", "/undo", "/resume 1"])
async def test_what_changes_the_conversation_is_done_before_the_next_message_is_taken(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, command: str
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.", "Two.", "Three.")
        await town.talk("first")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(town.answer, command)
            nursery.start_soon(town.say, "second")
        await wait_all_tasks_blocked()
        assert town.look().state == "idle"
        assert len(town.model.requests) == 2
