from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import ActorGone, Escalation
from hermes_actors.runtime import Actor, How, System
from hermes_actors.testing import EventLog, assert_invariants, living, recorded, running
from supervisors.policy import Limit
from supervisors.spec import Branch, worker
from supervisors.supervisor import Supervisor


class Counter(Actor[str]):
    """Counts messages; `"crash"` crashes it, `"slow"` waits for ever."""

    def __init__(self) -> None:
        self.count = 0
        self.diary: list[str] = []

    async def started(self) -> None:
        await trio.sleep(1)
        self.diary.append("started")

    async def receive(self, message: str) -> int:
        await trio.lowlevel.checkpoint()
        if message == "crash":
            raise ValueError("told to")
        if message == "slow":
            await trio.sleep_forever()
        self.count += 1
        return self.count

    async def stopped(self) -> None:
        await trio.sleep(1)
        self.diary.append("stopped")


class StillBorn(Actor[str]):
    async def started(self) -> None:
        await trio.lowlevel.checkpoint()
        raise LookupError("no such file")


async def test_an_actor_is_ready_when_the_block_begins_and_cleaned_up_when_it_ends(
    autojump_clock: MockClock,
) -> None:
    counter, log = Counter(), EventLog()
    async with living(counter, "counter", journal=recorded(log), capacity=7) as alive:
        assert counter.diary == ["started"]
        assert [await alive.ref.ask("a"), await alive.ref.ask("b")] == [1, 2]
        assert alive.ended is None
    assert counter.diary == ["started", "stopped"]
    assert alive.ended is not None
    assert (alive.ended.how, alive.ended.reason) == (How.STOPPED, "end of the block")
    assert log.lines() == [
        "   1     0.000  mailbox.opened actor=counter capacity=7",
        "   2     1.000  actor.started actor=counter",
        "   3     2.000  mailbox.depth actor=counter depth=1",
        "   4     2.000  actor.ended actor=counter how=stopped reason=end of the block",
    ]
    assert_invariants(log)


async def test_the_address_answers_at_once_when_the_block_is_over(
    autojump_clock: MockClock,
) -> None:
    async with living(Counter()) as alive:
        pass
    with pytest.raises(ActorGone, match="end of the block"):
        await alive.ref.ask("a")


async def test_work_in_hand_is_cut_at_the_end_and_what_waits_is_a_dead_letter(
    autojump_clock: MockClock,
) -> None:
    async with living(Counter()) as alive:
        alive.ref.tell("slow")
        await wait_all_tasks_blocked()
        alive.ref.tell("never begun")
    assert [letter.message for letter in alive.system.dead_letters()] == ["never begun"]


async def test_a_crash_that_nobody_asked_about_fails_the_block(autojump_clock: MockClock) -> None:
    with pytest.raises(ValueError, match="told to"):  # noqa: PT012
        async with living(Counter()) as alive:
            alive.ref.tell("crash")
            await alive.over.wait()


async def test_the_crash_is_raised_rather_than_the_refusal_that_came_of_it(
    autojump_clock: MockClock,
) -> None:
    with pytest.raises(ValueError, match="told to"):
        async with living(Counter()) as alive:
            await alive.ref.ask("crash")


async def test_a_crash_can_be_what_the_test_is_about(autojump_clock: MockClock) -> None:
    async with living(Counter(), may_crash=True) as alive:
        with pytest.raises(ActorGone):
            await alive.ref.ask("crash")
        await alive.over.wait()
    assert isinstance(alive.crash, ValueError)


async def test_an_actor_that_cannot_start_does_not_hang_the_test(autojump_clock: MockClock) -> None:
    with pytest.raises(LookupError, match="no such file"):
        async with living(StillBorn()):
            pass


async def test_a_failed_assertion_looks_like_one(autojump_clock: MockClock) -> None:
    with pytest.raises(AssertionError, match="mine"):
        async with living(Counter()):
            raise AssertionError("mine")


async def test_a_failed_assertion_is_not_hidden_by_a_crash(autojump_clock: MockClock) -> None:
    with pytest.raises(AssertionError, match="mine"):  # noqa: PT012
        async with living(Counter()) as alive:
            alive.ref.tell("crash")
            await alive.over.wait()
            raise AssertionError("mine")


async def test_a_cancelled_block_ends_its_actor(autojump_clock: MockClock) -> None:
    counter = Counter()
    with trio.move_on_after(5) as patience:
        async with living(counter) as alive:
            await alive.ref.ask("slow")
    assert patience.cancelled_caught
    assert counter.diary == ["started", "stopped"]


async def test_a_whole_tree_runs_in_a_block_and_restarts_what_crashes(
    autojump_clock: MockClock,
) -> None:
    log = EventLog()
    counter = worker("counter", Counter)
    tree = Supervisor(Branch(name="root", children=(counter,)), System(recorded(log)))
    async with running(tree):
        assert await counter.ref.ask("a") == 1
        counter.ref.tell("crash")
        assert await counter.ref.ask("a") == 1  # a new life, which has counted nothing yet
    assert log.of("actor.started", "actor.crashed", "actor.restarted").kinds() == [
        "actor.started",
        "actor.crashed",
        "actor.restarted",
        "actor.started",
    ]
    assert_invariants(log)


async def test_a_tree_that_gives_up_fails_the_block_with_its_escalation(
    autojump_clock: MockClock,
) -> None:
    counter = worker("counter", Counter)
    branch = Branch(name="root", children=(counter,), limit=Limit(restarts=0))
    with pytest.raises(Escalation, match="'counter'"):  # noqa: PT012
        async with running(Supervisor(branch, System())) as root:
            counter.ref.tell("crash")
            await root.over.wait()
