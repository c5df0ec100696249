"""The session: one turn at a time, in order, and nothing in memory that the store does not have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.actors.signals import Between, Busy
from hermes_actors.actors.taking import Manners
from hermes_actors.actors.turn import Turn
from hermes_actors.pure.endings import OK
from hermes_actors.pure.resets import NOTICES, ResetPolicy
from hermes_actors.store import bindings, inbox, letters, sessions
from hermes_actors.testing.event_log import EventLog, recorded
from hermes_actors.testing.invariants import assert_invariants
from hermes_actors.values import Source
from tests.hermes_actors.actors.commands.office import living_town
from tests.hermes_actors.actors.world import KEY


@pytest.fixture
def log() -> Iterator[EventLog]:
    log = EventLog()
    yield log
    assert_invariants(log, complete=not log.stays_open)


class Echo:
    """Says what it was told, after a second; knows how many runs overlapped."""

    def __init__(self) -> None:
        self.running = self.most = 0
        self.told: list[str] = []

    async def __call__(self, turn: Turn) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        self.told.append(turn.order.text)
        await trio.sleep(1)
        self.running -= 1
        turn.finish(OK, f"you said {turn.order.text}", said=False)


class Poison:
    """Breaks the end of every run whose message says so: the crash no turn can catch."""

    async def __call__(self, turn: Turn) -> None:
        await trio.lowlevel.checkpoint()
        if "poison" in turn.order.text:
            turn.voice = None  # type: ignore[assignment]
        turn.finish(OK, "fine", said=False)


# One at a time ----------------------------------------------------------------------------------


async def test_turns_are_serial_and_in_order_however_messages_arrive(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    echo = Echo()
    async with living_town(tmp_path / "db", echo, log=log) as town:
        for number in range(5):
            await town.say(f"{number}")
        await trio.sleep(30)
        assert (echo.told, echo.most) == (["0", "1", "2", "3", "4"], 1)


async def test_conversations_do_not_wait_for_each_other(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    echo = Echo()
    async with living_town(tmp_path / "db", echo, log=log) as town:
        for number in range(5):
            source = Source(platform="test", chat_id=f"c{number}", user_id="u")
            await town.say("hi", source=source)
        await trio.sleep(30)
        assert echo.most == 5


async def test_what_one_sender_writes_in_pieces_is_one_turn_and_others_are_not_in_it(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    echo = Echo()
    async with living_town(tmp_path / "db", echo, log=log, batch_delay=0.3) as town:
        for text in ("first", "second"):
            await town.say(text)
            await trio.sleep(0.1)
        await town.say("other", source=Source(platform="test", chat_id="c1", user_id="u2"))
        await town.say("/queue alone")
        await town.say("third")
        await trio.sleep(30)
        assert echo.told == ["first\nsecond", "other", "alone", "third"]


@pytest.mark.parametrize("cuts", [None, "new_session"])
async def test_what_comes_while_a_message_is_being_taken_is_done_before_it_runs(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, cuts: Any
) -> None:
    async def takes_its_time(**given: Any) -> None:
        await trio.sleep(1)

    echo, manners = Echo(), Manners(reset=ResetPolicy("idle", idle_minutes=1))
    async with living_town(tmp_path / "db", echo, log=log, manners=manners) as town:
        town.listen("agent_loop_stopped")
        town.bus.register("on_session_finalize", takes_its_time, owner="test")

        async def change() -> list[str]:
            await trio.lowlevel.checkpoint()
            return list(echo.told)

        await town.talk("one")
        await trio.sleep(60)
        await town.say("two")
        await trio.sleep(0.5)
        assert town.look().state == "idle"  # it is being taken, and not in hand yet
        assert await town.sessions.ref(KEY).ask(Between(change, cuts)) == ["one"]
        await trio.sleep(5)
        assert (echo.told, town.heard) == (["one", "two"], [])


async def test_what_comes_during_a_run_is_refused_or_cuts_it_and_is_done_at_its_end(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    echo = Echo()
    async with living_town(tmp_path / "db", echo, log=log) as town:
        town.listen("agent_loop_stopped")

        async def change() -> list[str]:
            await trio.lowlevel.checkpoint()
            return [given["cause"] for _, given in town.heard]

        await town.begin("one")
        await town.say("two")
        with pytest.raises(Busy):
            await town.sessions.ref(KEY).ask(Between(change))
        assert town.look().state == "running"
        assert await town.sessions.ref(KEY).ask(Between(change, "handoff")) == ["handoff"]
        assert echo.told == ["one"]


# Memory -----------------------------------------------------------------------------------------


async def test_an_unloaded_conversation_comes_back_as_it_was(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", log=log) as town:
        town.model.script("One.", "Two.")
        await town.talk("first")
        await town.answer("/title Tea")
        before = [await town.answer(f"/{name}") for name in ("status", "sessions", "why", "usage")]
        await wait_all_tasks_blocked()
        assert town.sessions.unload_since(trio.current_time()) == 1
        await wait_all_tasks_blocked()
        assert town.sessions.live() == []
        after = [await town.answer(f"/{name}") for name in ("status", "sessions", "why", "usage")]
        assert after == before
        assert town.sessions.live() == []  # a question alone wakes nobody
        await town.talk("second")
        told = [getattr(message, "text", "") for message in town.model.requests[1].messages]
        assert told == ["first", "One.", "second"]


async def test_a_conversation_that_is_answering_is_not_unloaded(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", Echo(), log=log) as town:
        await town.begin("hi")
        assert town.sessions.unload_since(trio.current_time()) == 0


async def test_after_a_restart_what_waits_is_answered_in_the_same_conversation(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", Echo(), log=log) as town:
        await town.begin("one")
        await town.say("two")
    recorded(log).note("gateway.started")
    echo = Echo()
    async with living_town(tmp_path / "db", echo, log=log, again=True) as town:
        await trio.sleep(30)
        assert echo.told == ["two"]
        assert len(await town.lines("session-1")) == 4


# Crashes ----------------------------------------------------------------------------------------


async def test_a_message_that_crashes_its_session_three_times_is_put_aside_and_the_session_lives(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    log = EventLog()
    async with living_town(tmp_path / "db", Poison(), log=log) as town:
        town.listen("dead_letter")
        await town.say("this is poison", key="bad")
        await town.say("hello", key="good")
        await trio.sleep(300)
        found = await town.store.read(inbox.find("bad"))
        good = await town.store.read(inbox.find("good"))
        assert found is not None
        assert good is not None
        assert (found.state, found.strikes, good.state) == ("dead", 3, "answered")
        assert len(log.of("actor.crashed").kinds()) == 3
        (letter,) = await town.store.read(letters.latest())
        assert (letter.origin_key, letter.notified) == ("bad", True)
        notices = [text for text in await town.sent() if text and "put aside" in text]
        assert len(notices) == 1
        assert (notices[0] or "").endswith("It began: this is poison")
        ((_, given),) = town.heard
        assert (given["message_id"], given["attempts"]) == ("bad", 3)
        assert town.sessions.quarantined() == {}


class BrokenClock:
    """The distance of local time to UTC, which nobody can tell while it is broken."""

    def __init__(self) -> None:
        self.broken = False

    def __call__(self, moment: float) -> float:
        if self.broken:
            raise ZeroDivisionError("no time")
        return 0.0


async def test_a_conversation_that_cannot_live_is_put_aside_and_its_messages_are_kept(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    clock, echo = BrokenClock(), Echo()
    manners = Manners(reset=ResetPolicy("daily"), offset=clock)
    async with living_town(tmp_path / "db", echo, log=log, manners=manners) as town:
        await town.talk("one")
        clock.broken = True
        await town.say("two")
        await trio.sleep(30)
        assert list(town.sessions.quarantined()) == [KEY]
        assert (await town.ack("three")).startswith("Your message is kept, but this conversation")
        assert "Put aside after repeated crashes" in await town.answer("/status")
        assert (await town.answer("/new")).startswith("/new could not be done: ")
        other = Source(platform="test", chat_id="c2", user_id="u")
        assert await town.ack("hi", other) == ""  # the house stands
        clock.broken = False
        assert town.sessions.release(KEY)
        await town.say("four")
        await trio.sleep(30)
        assert [text for text in echo.told if text != "hi"] == ["one", "two", "three", "four"]


async def test_messages_for_an_agent_that_is_gone_are_turned_away_with_the_reason(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    echo = Echo()
    async with living_town(tmp_path / "db", echo, log=log) as town:
        await town.begin("one")
        await town.say("two", key="k2")
        town.gone = "there is no agent 'main'"
        assert await town.answer("three") == "there is no agent 'main'"
        await trio.sleep(10)
        town.gone = ""
        await town.talk("four")
        left = await town.store.read(inbox.find("k2"))
        assert left is not None
        assert (left.state, left.reason) == ("rejected", "there is no agent 'main'")
        assert (await town.sent())[1] == (
            "I could not answer your message: there is no agent 'main'. Nothing was done with it."
        )
        assert echo.told == ["one", "four"]


# Leaving ----------------------------------------------------------------------------------------


async def test_while_draining_the_turn_may_finish_and_nothing_else_begins(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    echo = Echo()
    async with living_town(tmp_path / "db", echo, log=log) as town:
        await town.begin("one")
        await town.say("two", key="k2")
        town.root.drain("going home")
        assert town.look().state == "running"
        await trio.sleep(0.5)
        look = town.look()
        assert (look.run_id, look.state) == ("run-2", "running")
    assert echo.told == ["one"]
    log.stays_open = True  # the second message waits for the next process
    assert [entry["state"] for entry in log.of("run.ended")] == ["completed"]


# Starting afresh --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "pause", "reason"),
    [
        (ResetPolicy("idle", idle_minutes=60), 3600, "idle"),
        (ResetPolicy("daily", at_hour=4), 4 * 3600, "daily"),
        (ResetPolicy("both", at_hour=4, idle_minutes=60), 3700, "idle"),
    ],
)
async def test_a_conversation_starts_afresh_when_its_policy_says_so_and_says_that_it_does(
    tmp_path: Path,
    log: EventLog,
    autojump_clock: MockClock,
    policy: ResetPolicy,
    pause: float,
    reason: Any,
) -> None:
    manners = Manners(reset=policy)
    async with living_town(tmp_path / "db", log=log, manners=manners) as town:
        town.listen("on_session_finalize", "on_session_reset", "on_session_start")
        town.model.script("One.", "Two.", "Three.")
        await town.talk("first")
        await town.talk("second")
        await trio.sleep(pause)
        await town.talk("third")
        told = [getattr(message, "text", "") for message in town.model.requests[-1].messages]
        assert told == ["third"]
        assert await town.sent() == ["One.", "Two.", NOTICES[reason], "Three."]
        assert [(hook, given.get("reason")) for hook, given in town.heard] == [
            ("on_session_start", None),
            ("on_session_finalize", "session_expired"),
            ("on_session_reset", "session_expired"),
            ("on_session_start", None),
        ]
        assert await town.answer("/resume session-1") == "Back in session-1, 4 messages long."


@pytest.mark.parametrize(
    ("manners", "pause"),
    [
        (Manners(), 10**6),
        (Manners(reset=ResetPolicy("idle", idle_minutes=60)), 3599),
        (Manners(reset=ResetPolicy("daily", at_hour=4)), 3 * 3600),
    ],
)
async def test_before_that_it_goes_on(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock, manners: Manners, pause: float
) -> None:
    async with living_town(tmp_path / "db", log=log, manners=manners) as town:
        town.model.script("One.", "Two.")
        await town.talk("first")
        await trio.sleep(pause)
        await town.talk("second")
        assert await town.sent() == ["One.", "Two."]
        assert len(town.model.requests[1].messages) == 3


async def test_a_reset_can_be_silent(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    manners = Manners(reset=ResetPolicy("idle", idle_minutes=1), notify=False)
    async with living_town(tmp_path / "db", log=log, manners=manners) as town:
        town.model.script("One.", "Two.")
        await town.talk("first")
        await trio.sleep(60)
        await town.talk("second")
        assert await town.sent() == ["One.", "Two."]
        bound = await town.store.read(bindings.find(KEY))
        assert bound is not None
        assert bound.session_id != "session-1"
        old = await town.store.read(sessions.get("session-1"))
        assert old.end_reason == "session_expired"
