from __future__ import annotations

import contextvars
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import ActorGone, Escalation, Overloaded
from hermes_actors.pure.backoff import Backoff
from hermes_actors.runtime import Actor, Ended, How, Mailbox, Ref, System, render
from supervisors.crowd import CrowdSupervisor
from supervisors.policy import Limit, Restart
from supervisors.spec import Crowd, Door
from tests.supervisors.trees import Member


class Party:
    """A running crowd, one list for all that happens in it, and how each guest ended."""

    def __init__(self, **settings: Any) -> None:
        self.system, self.door = System(), Door("party")
        self.spec = Crowd(name="party", door=self.door, **settings)
        self.crowd = CrowdSupervisor(self.spec, self.system, dice=lambda: 0.5)
        self.events: list[str] = []
        self.ends: dict[str, Ended] = {}
        self.ended: Ended | None = None

    async def run(self) -> None:
        self.ended = await self.crowd.run()

    def invite(self, name: str) -> Ref[str]:
        box = Mailbox[str](name)
        self.door.adopt(
            box, lambda: Member(name, self.events), lambda ended: self.note(name, ended)
        )
        return Ref(name, box)

    def note(self, name: str, ended: Ended) -> None:
        assert name not in self.ends, "told twice"
        self.ends[name] = ended


@asynccontextmanager
async def party(**settings: Any) -> AsyncIterator[Party]:
    it = Party(**settings)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(it.run)
        await wait_all_tasks_blocked()
        yield it
        it.crowd.stop("end of test")


async def test_guests_come_when_they_like_and_one_crash_touches_nobody_else(
    autojump_clock: MockClock,
) -> None:
    async with party() as it:
        ada, bob = it.invite("ada"), it.invite("bob")
        await bob.ask("hello")
        ada.tell("crash")
        await wait_all_tasks_blocked()
        assert it.events[2:] == ["-ada", "+ada"]
        assert await ada.ask("back?") == "back?"


@pytest.mark.parametrize("restarts", [0, 1, 3])
async def test_a_guest_past_its_limit_is_abandoned_with_every_cause(
    restarts: int, autojump_clock: MockClock
) -> None:
    async with party(limit=Limit(restarts, 60)) as it:
        ada, bob = it.invite("ada"), it.invite("bob")
        for _ in range(restarts + 1):
            assert "ada" not in it.ends
            ada.tell("crash")
            await wait_all_tasks_blocked()
        error = it.ends["ada"].error
        assert isinstance(error, Escalation)
        assert [str(cause) for cause in error.causes] == ["crash of ada"] * (restarts + 1)
        assert it.events.count("+ada") == restarts + 1
        assert await bob.ask("still here") == "still here"


async def test_a_guest_that_leaves_by_itself_is_gone_and_reported_once(
    autojump_clock: MockClock,
) -> None:
    async with party() as it:
        ada = it.invite("ada")
        await wait_all_tasks_blocked()
        ada.stop("had enough")
        await wait_all_tasks_blocked()
        assert it.ends == {"ada": Ended(How.STOPPED, "had enough")}
        assert it.crowd.describe().children == ()


async def test_restarts_of_a_guest_back_off_and_only_proof_of_life_resets_the_delay(
    autojump_clock: MockClock,
) -> None:
    async with party(limit=Limit(100, 1000), backoff=Backoff(first=1, most=60)) as it:
        ada, back = it.invite("ada"), list[float]()
        for proof in ("none", "none", "prove", "none"):
            ada.tell("crash")
            await ada.ask(proof)
            back.append(trio.current_time())
        assert back == [0.5, 1.5, 3.5, 4.0]


async def test_a_crowd_that_is_told_to_end_does_not_sit_out_a_backoff(
    autojump_clock: MockClock,
) -> None:
    async with party(backoff=Backoff(first=60, most=60)) as it:
        it.invite("ada").tell("crash")
        await wait_all_tasks_blocked()
        it.crowd.drain("closing")
        await wait_all_tasks_blocked()
        assert trio.current_time() == 0
        assert it.ended == Ended(How.STOPPED, "closing")
        assert it.ends["ada"].how is How.CRASHED
        assert not isinstance(it.ends["ada"].error, Escalation)


async def test_draining_lets_everyone_finish_side_by_side_and_takes_nobody_new(
    autojump_clock: MockClock,
) -> None:
    async with party() as it:
        for name, seconds in (("ada", 3), ("bob", 5)):
            it.invite(name).tell(f"work {seconds}")
        await wait_all_tasks_blocked()
        it.crowd.drain("closing")
        with pytest.raises(ActorGone, match="closing"):
            it.invite("late")
        await trio.sleep(6)
        assert it.ended == Ended(How.STOPPED, "closing")
        assert [event for event in it.events if "worked" in event] == ["ada worked", "bob worked"]
        assert {ended.how for ended in it.ends.values()} == {How.DRAINED}


async def test_a_guest_that_came_in_the_step_of_the_drain_still_does_what_it_came_for(
    autojump_clock: MockClock,
) -> None:
    async with party() as it:
        it.invite("ada").tell("work 1")
        it.invite("idle")
        it.crowd.drain("closing")
        await trio.sleep(2)
        assert it.events == ["+ada", "ada worked", "-ada"]
        assert {name: ended.how for name, ended in it.ends.items()} == {
            "ada": How.DRAINED,
            "idle": How.STOPPED,
        }


async def test_stop_cuts_everyone_and_each_is_told_the_reason(autojump_clock: MockClock) -> None:
    async with party() as it:
        it.invite("ada").tell("work 99")
        it.invite("bob")
        await wait_all_tasks_blocked()
        it.invite("just coming")
        it.crowd.stop("enough")
        await wait_all_tasks_blocked()
        assert trio.current_time() == 0
        assert {name: ended.reason for name, ended in it.ends.items()} == dict.fromkeys(
            ["ada", "bob", "just coming"], "enough"
        )
        assert sorted(it.events)[:2] == ["+ada", "+bob"]
        assert {"-ada", "-bob"} <= set(it.events)


async def test_the_door_refuses_before_the_party_after_it_and_when_it_is_full(
    autojump_clock: MockClock,
) -> None:
    door = Door("early")
    with pytest.raises(ActorGone, match="'early' is not running"):
        door.adopt(Mailbox("x"), Actor, print)
    async with party(most=1) as it:
        it.invite("ada")
        with pytest.raises(Overloaded, match="'party' has 1 actors, which is its limit"):
            it.invite("bob")
        it.crowd.stop("over")
        await wait_all_tasks_blocked()
        with pytest.raises(ActorGone, match="'party' is not running"):
            it.invite("late")


async def test_one_box_is_not_taken_in_twice(autojump_clock: MockClock) -> None:
    async with party(most=5) as it:
        box = Mailbox[Any]("ada")
        it.door.adopt(box, Actor, lambda ended: None)
        with pytest.raises(ValueError, match="'ada' is already alive in 'party'"):
            it.door.adopt(box, Actor, lambda ended: None)


async def test_a_guest_that_cannot_be_made_counts_as_a_crash(autojump_clock: MockClock) -> None:
    def make() -> Actor[Any]:
        raise TypeError("no such guest")

    async with party(limit=Limit(1, 60)) as it:
        it.door.adopt(Mailbox("ghost"), make, lambda ended: it.note("ghost", ended))
        await wait_all_tasks_blocked()
        error = it.ends["ghost"].error
        assert isinstance(error, Escalation)
        assert list(map(repr, error.causes)) == ["TypeError('no such guest')"] * 2


@pytest.mark.parametrize(
    ("each", "lives"),
    [(Restart.PERMANENT, 3), (Restart.TRANSIENT, 2), (Restart.TEMPORARY, 1)],
)
async def test_each_restart_type_means_the_same_as_under_a_branch(
    each: Restart, lives: int, autojump_clock: MockClock
) -> None:
    async with party(each=each) as it:
        ada = it.invite("ada")
        ada.tell("crash")
        await wait_all_tasks_blocked()
        ada.stop("by itself")
        await wait_all_tasks_blocked()
        assert it.events.count("+ada") == lives


async def test_nothing_of_whoever_invites_reaches_the_guest(autojump_clock: MockClock) -> None:
    who = contextvars.ContextVar("who", default="nobody")
    seen: list[str] = []

    class Look(Actor[str]):
        async def started(self) -> None:
            seen.append(who.get())

    async with party() as it:
        who.set("the host")
        it.door.adopt(Mailbox("look"), Look, lambda ended: None)
        await wait_all_tasks_blocked()
    assert seen == ["nobody"]


async def test_a_crowd_can_be_printed_also_while_a_guest_waits_for_its_restart(
    autojump_clock: MockClock,
) -> None:
    async with party(backoff=Backoff(first=60, most=60)) as it:
        it.invite("ada").tell("work 9")
        await wait_all_tasks_blocked()
        it.invite("bob").tell("crash")
        await wait_all_tasks_blocked()
        assert render(it.crowd.describe()) == (
            "party  crowd · running · 0s\n├─ ada  Member · working · 0s\n└─ bob  Worker · down · 0s"
        )
        await trio.sleep(31)
        assert it.crowd.describe().children[1].restarts == 1


async def test_cancelling_a_crowd_cleans_up_and_reports_every_guest(
    autojump_clock: MockClock,
) -> None:
    it = Party()
    with trio.move_on_after(1):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(it.run)
            await wait_all_tasks_blocked()
            it.invite("ada").tell("work 99")
    assert it.events == ["+ada", "-ada"]
    assert it.ends == {"ada": Ended(How.CANCELLED, "cut")}
    assert it.door.inside is None
