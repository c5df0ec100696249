"""Answers to what the agent has asked: from the right person, in time, and heard at once."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.actors.turn import Turn
from hermes_actors.pure.endings import OK
from hermes_actors.store import approvals
from hermes_actors.store.approvals import NewApproval
from hermes_actors.testing.event_log import EventLog
from hermes_actors.values import Source
from tests.hermes_actors.actors.commands.office import living_town
from tests.hermes_actors.actors.world import CHAT

NOTHING = "Nothing waits for an answer here."


class Asks:
    """A run that asks two things of a person, and tells what it heard."""

    def __init__(self, owner: str = "u1") -> None:
        self.owner = owner

    async def __call__(self, turn: Turn) -> None:
        for number in (1, 2):
            await turn.house.store.write(
                approvals.ask(self._question(turn, number), now=turn.house.now())
            )
        turn.enter("approval")
        heard = [await self._heard(turn, number) for number in (1, 2)]
        turn.finish(OK, ", ".join(heard), said=False)

    def _question(self, turn: Turn, number: int) -> NewApproval:
        return NewApproval(
            id=f"ask-{number}",
            session_id=turn.order.session_id,
            run_id=turn.run_id,
            call_id=f"call-{number}",
            tool=f"tool{number}",
            args_digest=f"digest-{number}",
            owner=self.owner,
            epoch=number,
            expires_at=turn.house.now() + 300,
        )

    async def _heard(self, turn: Turn, number: int) -> str:
        await turn.until_decided(f"ask-{number}")
        answer = await turn.house.store.read(approvals.get(f"ask-{number}"))
        return f"{answer.state} {answer.scope} {answer.reason}"


@pytest.mark.parametrize(
    ("said", "told", "heard"),
    [
        (["/approve", "/deny too risky"], ["tool1: approved.", "tool2: denied."],
         "approved once None, denied once too risky"),
        (["/approve all session"], ["tool1: approved. tool2: approved."],
         "approved session None, approved session None"),
        (["/deny all no"], ["tool1: denied. tool2: denied."], "denied once no, denied once no"),
        (["yes", "No!"], ["tool1: approved.", "tool2: denied."],
         "approved once None, denied once None"),
    ],
)  # fmt: skip
async def test_the_run_that_asked_hears_the_answer_at_once(
    tmp_path: Path,
    log: EventLog,
    autojump_clock: MockClock,
    said: list[str],
    told: list[str],
    heard: str,
) -> None:
    async with living_town(tmp_path / "db", Asks(), log=log) as town:
        await town.begin("go")
        assert "Waiting for your answer: 2 (/approve or /deny)" in await town.answer("/status")
        assert [await town.answer(text) for text in said] == told
        await wait_all_tasks_blocked()
        assert (await town.lines("session-1"))[-1] == ("assistant", heard)
        assert await town.answer("/approve") == NOTHING
        assert trio.current_time() == 0


async def test_words_that_are_no_answer_approve_nothing(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", Asks(), log=log) as town:
        await town.begin("go")
        assert await town.answer("/approve everything") == (
            "Write it like this: /approve, /approve all, /approve session, /approve always."
        )
        assert (await town.ack("ok, but first look")).startswith("Queued as number 1")
        assert len(await town.store.read(approvals.pending("session-1"))) == 2
        assert "1 queued message dropped" in await town.answer("/stop all")
        assert await town.store.read(approvals.pending("session-1")) == []


async def test_only_the_person_who_was_asked_may_answer_and_only_in_time(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", Asks("u2"), log=log) as town:
        await town.begin("go")
        assert await town.answer("/approve") == "tool1: 'u1' may not answer this question."
        owner = Source(platform="test", chat_id="c1", user_id="u2")
        await trio.sleep(300)
        assert await town.answer("/approve", owner) == (
            "tool1: the time to answer this question is over."
        )
        assert town.look().phase == "approval"


async def test_one_word_is_ordinary_talk_when_nothing_was_asked(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async def waits(turn: Turn) -> None:
        await trio.sleep(60)
        turn.finish(OK, turn.order.text, said=False)

    async with living_town(tmp_path / "db", waits, log=log) as town:
        assert await town.ack("yes", CHAT) == ""
        await wait_all_tasks_blocked()
        assert (await town.ack("ok")).startswith("Queued as number 1")
    log.stays_open = True  # it waits for the next process


async def test_a_question_from_the_background_is_answered_in_the_chat(
    tmp_path: Path, log: EventLog, autojump_clock: MockClock
) -> None:
    async with living_town(tmp_path / "db", Asks(), log=log) as town:
        await town.answer("/background go")
        await wait_all_tasks_blocked()
        assert await town.answer("/approve all") == "tool1: approved. tool2: approved."
        await wait_all_tasks_blocked()
        assert await town.sent() == ["approved once None, approved once None"]
