"""Going back to an earlier conversation: one's own, and nobody else's."""

from __future__ import annotations

from pathlib import Path

import pytest
from trio.testing import MockClock

from hermes_actors.actors.receipts import Answered
from hermes_actors.actors.taking import Manners
from hermes_actors.pure.session_keys import Grouping, session_key
from hermes_actors.store import bindings, sessions
from hermes_actors.store.operation import Write
from hermes_actors.testing.event_log import EventLog
from hermes_actors.values import Inbound, Source
from tests.hermes_actors.actors.commands.office import Town, living_town
from tests.hermes_actors.actors.world import CHAT, KEY

ELSEWHERE = Source(platform="test", chat_id="c2", user_id="u2")
GROUP = Source(platform="test", chat_id="g", chat_type="group", user_id="u1", user_name="Ada")
OTHER = Source(platform="test", chat_id="g", chat_type="group", user_id="u2", user_name="Bo")


async def where(town: Town) -> str:
    bound = await town.store.read(bindings.find(KEY))
    assert bound is not None
    return bound.session_id


@pytest.mark.parametrize("how", ["2", "Tea", "session-1"])
async def test_a_conversation_is_resumed_by_number_by_title_and_by_id(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, how: str
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.", "Two.", "Three.")
        await town.talk("first")
        await town.answer("/title Tea")
        await town.answer("/new")
        autojump_clock.jump(60)
        await town.talk("second")
        assert await town.answer("/sessions") == (
            "1. session-4, 2 messages, 1970-01-01 00:17 UTC (this one)\n"
            "2. “Tea”, 2 messages, 1970-01-01 00:16 UTC\n"
            "/resume NUMBER goes back to one of them."
        )
        assert await town.answer(f"/resume {how}") == "Back in “Tea”, 2 messages long."
        autojump_clock.jump(60)
        await town.talk("third")
        told = [getattr(message, "text", "") for message in town.model.requests[-1].messages]
        assert told == ["first", "One.", "third"]
        assert await town.answer(f"/resume {how if how != '2' else '1'}") == (
            "You are in that conversation already."
        )


@pytest.mark.parametrize("how", ["1", "Secret", "session-1", "nonsense"])
async def test_what_belongs_to_others_is_not_here(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, how: str
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.")
        await town.talk("my diary")
        await town.answer("/title Secret")
        told = await town.answer(f"/resume {how}", ELSEWHERE)
        assert told == f"There is no conversation '{how}' here. /sessions lists them."
        assert await town.answer("/sessions", ELSEWHERE) == (
            "There are no earlier conversations here."
        )


async def test_in_a_group_each_person_has_their_own_and_in_a_shared_one_all_have_all(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    shared = Manners(grouping=Grouping(group_sessions_per_user=False))
    for manners, told in ((Manners(), "There is no conv"), (shared, "Back in “Tea”")):
        path = tmp_path / f"db-{told[0]}"
        async with living_town(path, log=EventLog(), manners=manners) as town:
            town.model.script("One.", "Two.")
            key = "agent:main:test:group:g" + (":u1" if manners is not shared else "")
            await town.talk("first", GROUP, key)
            await town.answer("/title Tea", GROUP)
            await town.answer("/new", GROUP)
            assert (await town.answer("/resume Tea", OTHER)).startswith(told)


async def test_a_thread_that_is_named_like_a_person_does_not_get_what_is_that_persons(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    thread = Source(platform="test", chat_id="g", chat_type="group", user_id="u2", thread_id="u1")
    key = "agent:main:test:group:g:u1"
    assert session_key(GROUP) == session_key(thread) == key
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.")
        await town.talk("first", GROUP, key)
        await town.answer("/title Tea", GROUP)
        await town.answer("/new", GROUP)
        assert "There is no conversation 'Tea' here" in await town.answer("/resume Tea", thread)


async def test_what_was_said_to_one_agent_is_not_resumed_with_another(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.")
        await town.talk("first")
        await town.answer("/title Tea")
        await town.answer("/new")
        told = await town.router.receive(Inbound(CHAT, "k", "/resume Tea", agent="coder"))
        assert isinstance(told, Answered)
        assert "There is no conversation 'Tea' here" in told.text


async def test_a_row_that_does_not_say_whose_it_is_belongs_to_nobody(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.")
        await town.talk("first")
        await town.answer("/title Tea")
        await town.answer("/new")
        await town.store.write(
            Write(lambda sql: sql.execute("UPDATE sessions SET source = '{}'") and None)
        )
        assert "There is no conversation 'Tea' here" in await town.answer("/resume Tea")


async def test_a_conversation_that_goes_on_elsewhere_is_not_torn_away(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.")
        await town.talk("first")
        await town.answer("/title Tea")
        await town.answer("/new")
        now = town.house.now()
        await town.store.write(
            bindings.bind("agent:main:other:dm:x", "session-1", agent_id="main", now=now)
        )
        assert await town.answer("/resume Tea") == (
            "That conversation goes on in another place, so it cannot be resumed here."
        )
        assert await where(town) != "session-1"


async def test_the_earlier_conversation_ends_when_another_is_resumed_and_both_stay(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.", "Two.")
        await town.talk("first", CHAT)
        await town.answer("/new")
        await town.talk("second")
        left = await where(town)
        await town.answer("/resume session-1")
        old = await town.store.read(sessions.get(left))
        back = await town.store.read(sessions.get("session-1"))
        assert (old.end_reason, back.end_reason) == ("session_switch", None)
