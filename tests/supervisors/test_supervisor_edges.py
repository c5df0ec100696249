"""What happens when two things go wrong at once, or at the worst moment."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import ActorGone, ConfigError, Escalation
from hermes_actors.pure.backoff import Backoff
from hermes_actors.runtime import Actor, Ended, System
from hermes_actors.testing.trio_internals import seeded
from supervisors.policy import Limit, Restart, Strategy
from supervisors.spec import Branch, Crowd, Door, Worker, worker
from supervisors.supervisor import Supervisor, run_tree
from tests.supervisors.trees import Member, Recorder, tree


async def test_two_children_that_crash_in_one_step_cost_one_restart(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    children = [record.child(name) for name in "ab"]
    async with tree(children, Strategy.ONE_FOR_ALL, Limit(1, 60)) as it:
        it.ref("a").tell("crash")
        it.ref("b").tell("crash")
        await wait_all_tasks_blocked()
        assert not it.over.is_set()
        assert record.events.count("+a") == record.events.count("+b") == 2


async def test_an_escalation_names_those_that_crashed_in_the_same_step(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    async with tree([record.child(name) for name in "abc"], limit=Limit(0, 60)) as it:
        for name in "abc":
            it.ref(name).tell("crash")
        await it.over.wait()
    assert sorted(map(str, it.failure.causes)) == ["crash of a", "crash of b", "crash of c"]


async def test_an_escalation_names_those_that_crash_while_it_ends_them(
    autojump_clock: MockClock,
) -> None:
    class Clumsy(Actor[str]):
        async def stopped(self) -> None:
            raise OSError("dropped it")

    record = Recorder()
    async with tree([worker("clumsy", Clumsy), record.child("b")], limit=Limit(0, 60)) as it:
        it.ref("b").tell("crash")
        await it.over.wait()
    assert [str(cause) for cause in it.failure.causes] == ["crash of b", "dropped it"]


async def test_a_hopeless_cause_is_last_and_the_others_are_kept(
    autojump_clock: MockClock,
) -> None:
    class Wrong(Member):
        async def receive(self, message: str) -> object:
            if message == "hopeless":
                raise ExceptionGroup("two", [ConfigError(["x: wrong"]), KeyError("beside it")])
            return await super().receive(message)

    record = Recorder()
    child = worker("a", lambda: Wrong("a", record.events))
    inner = Branch(name="inner", children=(child,), limit=Limit(9, 60))
    async with tree([inner], limit=Limit(9, 60)) as it:
        child.ref.tell("crash")
        await wait_all_tasks_blocked()
        child.ref.tell("hopeless")
        await it.over.wait()
    assert [type(cause) for cause in it.failure.causes] == [ValueError, KeyError, ConfigError]


async def test_a_retired_child_is_not_brought_back_by_a_siblings_restart(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    children = [record.child("a"), record.child("once", restart=Restart.TRANSIENT)]
    async with tree(children, Strategy.ONE_FOR_ALL) as it:
        it.ref("once").stop("done")
        await wait_all_tasks_blocked()
        it.ref("a").tell("crash")
        await wait_all_tasks_blocked()
        assert record.events == ["+a", "+once", "-once", "-a", "+a"]
        states = {node.name: node.state for node in it.root.describe().children}
        assert states == {"a": "idle", "once": "ended"}


async def test_a_temporary_child_ended_by_a_siblings_restart_stays_away_and_answers(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    children = [record.child("a"), record.child("temporary", restart=Restart.TEMPORARY)]
    async with tree(children, Strategy.ONE_FOR_ALL) as it:
        it.ref("a").tell("crash")
        await wait_all_tasks_blocked()
        assert record.events == ["+a", "+temporary", "-a", "-temporary", "+a"]
        with pytest.raises(ActorGone, match="restart of 'a'"):
            await it.ref("temporary").ask("anyone?")


async def test_a_child_that_fails_to_start_for_good_does_not_keep_the_next_from_starting(
    autojump_clock: MockClock,
) -> None:
    class Unlucky(Actor[str]):
        async def started(self) -> None:
            raise OSError("not today")

    record = Recorder()
    unlucky = worker("unlucky", Unlucky, restart=Restart.TEMPORARY)
    children = [record.child("a"), unlucky, record.child("z")]
    async with tree(children, Strategy.REST_FOR_ONE) as it:
        assert it.up.is_set()
        assert record.events == ["+a", "+z"]
        assert await it.ref("z").ask("hello") == "hello"


class StopAtBirth(trio.abc.Instrument):
    """Stops the tree in the very step in which the task of its second child is made."""

    def __init__(self, root: Supervisor) -> None:
        self._root, self._births = root, 0

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        self._births += "_keep" in task.name
        if self._births == 2:
            self._root.stop("changed my mind")


@pytest.mark.parametrize("seed", range(8))
def test_a_child_that_was_just_told_to_start_ends_in_its_turn(seed: int) -> None:
    record = Recorder()

    async def birth() -> None:
        branch = Branch(name="root", children=tuple(record.child(name) for name in "ab"))
        root = Supervisor(branch, System())
        trio.lowlevel.add_instrument(StopAtBirth(root))
        await root.run()

    # Whether the child or its supervisor runs next is Trio's choice: every choice must be right.
    with seeded(seed):
        trio.run(birth)
    assert record.events in (["+a", "-a"], ["+a", "+b", "-b", "-a"])


@pytest.mark.parametrize("step", range(6))
async def test_a_stop_at_each_step_of_a_start_ends_in_reverse_order(
    step: int, autojump_clock: MockClock
) -> None:
    record, system = Recorder(), System()
    branch = Branch(name="root", children=tuple(record.child(name) for name in "ab"))
    root = Supervisor(branch, system)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_tree, root, system)
        for _ in range(step):
            await trio.lowlevel.checkpoint()
        root.stop("changed my mind")
    born = [event[1] for event in record.events if event[0] == "+"]
    ended = [event[1] for event in record.events if event[0] == "-"]
    assert ended == born[::-1]


async def test_a_crash_of_a_supervisor_is_read_by_the_one_above(
    autojump_clock: MockClock,
) -> None:
    # Two children of one name are noticed when the branch is built, that is in `inner` itself.
    record = Recorder()
    twins = (record.child("twin"), record.child("twin"))
    async with tree([Branch(name="inner", children=twins)], limit=Limit(1, 60)) as it:
        await it.over.wait()
    assert [type(cause) for cause in it.failure.causes] == [ValueError, ValueError]


async def test_a_branch_backs_off_too_and_its_childrens_proof_of_life_counts_for_it(
    autojump_clock: MockClock,
) -> None:
    record, starts = Recorder(), list[float]()

    class Timed(Member):
        async def started(self) -> None:
            starts.append(trio.current_time())

    leaf = worker("leaf", lambda: Timed("leaf", record.events))
    inner = Branch(
        name="inner", children=(leaf,), limit=Limit(0, 60), backoff=Backoff(first=1, most=60)
    )
    async with tree([inner], limit=Limit(100, 1000), dice=0.5):
        for pause in (1, 1, 2):
            leaf.ref.tell("crash")
            await trio.sleep(pause)
        await leaf.ref.ask("prove")
        leaf.ref.tell("crash")
        await trio.sleep(1)
    assert starts == [0, 0.5, 2.0, 4.0, 4.5]


async def test_a_hundred_crashes_in_a_row_are_counted_exactly(autojump_clock: MockClock) -> None:
    lives: list[float] = []

    class Doomed(Actor[str]):
        async def started(self) -> None:
            lives.append(trio.current_time())
            await trio.sleep(0.01)
            raise OSError(len(lives))

    async with tree([worker("doomed", Doomed)], limit=Limit(99, 60)) as it:
        await it.over.wait()
    assert len(lives) == 100
    assert [cause.args for cause in it.failure.causes] == [(n,) for n in range(1, 101)]


async def test_the_exact_moment_at_which_a_restart_stops_counting(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    async with tree([record.child("a")], limit=Limit(1, 60)) as it:
        it.ref("a").tell("crash")
        await trio.sleep(60)
        it.ref("a").tell("crash")  # the first is sixty seconds old: forgotten
        await trio.sleep(59.5)
        assert not it.over.is_set()
        it.ref("a").tell("crash")  # the second is not
        await it.over.wait()
    assert record.events.count("+a") == 3


async def test_a_whole_tree_ends_in_reverse_order_of_its_start_level_by_level(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    low = Branch(name="low", children=(record.child("b"), record.child("c")))
    middle = Branch(name="middle", children=(record.child("a"), low, record.child("d")))
    async with tree([record.child("store"), middle, record.child("edge")]) as it:
        it.root.drain("closing")
        await it.over.wait()
    assert record.events == [
        *("+store", "+a", "+b", "+c", "+d", "+edge"),
        *("-edge", "-d", "-c", "-b", "-a", "-store"),
    ]


async def test_each_child_has_its_own_deadline_and_the_next_still_gets_its_own(
    autojump_clock: MockClock,
) -> None:
    ended: list[tuple[str, float]] = []

    def slow(name: str, seconds: float) -> Worker:
        class Slow(Actor[str]):
            async def stopped(self) -> None:
                try:
                    await trio.sleep(seconds)
                finally:
                    ended.append((name, trio.current_time()))

        return worker(name, Slow, grace=3.0)

    async with tree([slow("a", 2), slow("b", 99), slow("c", 1)]) as it:
        it.root.stop("closing")
        await it.over.wait()
    assert ended == [("c", 1), ("b", 4), ("a", 6)]


async def test_a_restarted_crowd_takes_newcomers_through_the_same_door(
    autojump_clock: MockClock,
) -> None:
    record, door, ends = Recorder(), Door("crowd"), list[Ended]()
    guest = record.child("guest")
    async with tree(
        [record.child("store"), Crowd(name="crowd", door=door)], Strategy.REST_FOR_ONE
    ) as it:
        door.adopt(guest.box, guest.make, ends.append)
        await wait_all_tasks_blocked()
        it.ref("store").tell("crash")
        await wait_all_tasks_blocked()
        assert [each.reason for each in ends] == ["restart of 'store'"]
        door.adopt(guest.box, guest.make, ends.append)
        assert await guest.ref.ask("back?") == "back?"
    assert len(ends) == 2


async def test_every_address_is_answered_when_the_whole_tree_is_cancelled(
    autojump_clock: MockClock,
) -> None:
    record, system = Recorder(), System()
    leaf = record.child("leaf")
    branch = Branch(name="root", children=(Branch(name="inner", children=(leaf,)),))
    answers: list[str] = []

    async def ask() -> None:
        with pytest.raises(ActorGone) as gone:
            await leaf.ref.ask("work 99")
        answers.append(gone.value.reason)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        nursery.start_soon(ask)
        with trio.move_on_after(1):
            await run_tree(Supervisor(branch, system), system)
    assert sorted(answers) == ["cut", "cut"]


async def test_an_escalation_of_an_escalation_keeps_the_first_cause_within_reach(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    leaf = record.child("leaf")
    low = Branch(name="low", children=(leaf,), limit=Limit(0, 60))
    middle = Branch(name="middle", children=(low,), limit=Limit(0, 60))
    async with tree([middle], limit=Limit(0, 60)) as it:
        leaf.ref.tell("crash")
        await it.over.wait()
    chain: list[str] = []
    failure: BaseException = it.failure
    while isinstance(failure, Escalation):
        chain.append(failure.supervisor)
        assert failure.__cause__ is failure.causes[-1]
        failure = failure.causes[-1]
    assert chain == ["root", "middle", "low"]
    assert str(failure) == "crash of leaf"


async def test_a_tree_that_is_cancelled_before_it_starts_answers_who_waits_at_its_addresses(
    autojump_clock: MockClock,
) -> None:
    record, system = Recorder(), System()
    leaf = record.child("leaf")
    branch = Branch(name="root", children=(Branch(name="inner", children=(leaf,)),))
    with trio.CancelScope() as early:
        early.cancel()
        await run_tree(Supervisor(branch, system), system)
    with pytest.raises(ActorGone, match="the gateway has ended"):
        await leaf.ref.ask("anyone?")
    assert record.events == []


async def test_a_cut_lets_the_last_child_tidy_up_before_it_ends_the_first(
    autojump_clock: MockClock,
) -> None:
    ended: list[tuple[str, float]] = []

    def slow(name: str, seconds: float) -> Worker:
        class Slow(Actor[str]):
            async def stopped(self) -> None:
                await trio.sleep(seconds)
                ended.append((name, trio.current_time()))

        return worker(name, Slow)

    branch, system = Branch(name="root", children=(slow("store", 0), slow("user", 2))), System()
    with trio.move_on_after(1):
        await run_tree(Supervisor(branch, system), system)
    assert ended == [("user", 3), ("store", 3)]
