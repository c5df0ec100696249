from __future__ import annotations

import contextvars

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import ActorGone, ConfigError, Escalation
from hermes_actors.pure.backoff import Backoff
from hermes_actors.runtime import Actor, Ended, How, System, render
from supervisors.policy import Limit, Restart, Strategy
from supervisors.spec import Branch, worker
from supervisors.supervisor import Supervisor, run_tree
from tests.supervisors.trees import Member, Recorder, tree


async def test_children_start_in_order_and_end_in_reverse(autojump_clock: MockClock) -> None:
    record = Recorder()
    async with tree([record.child(name) for name in "abc"]) as it:
        assert it.up.is_set()
        it.root.drain("closing")
        await it.over.wait()
    assert record.events == ["+a", "+b", "+c", "-c", "-b", "-a"]
    assert it.ended == Ended(How.STOPPED, "closing")


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (Strategy.ONE_FOR_ONE, ["-b", "+b"]),
        (Strategy.REST_FOR_ONE, ["-b", "-c", "+b", "+c"]),
        (Strategy.ONE_FOR_ALL, ["-b", "-c", "-a", "+a", "+b", "+c"]),
    ],
)
async def test_each_strategy_restarts_its_own_circle_in_order(
    strategy: Strategy, expected: list[str], autojump_clock: MockClock
) -> None:
    record = Recorder()
    async with tree([record.child(name) for name in "abc"], strategy) as it:
        record.events.clear()
        it.ref("b").tell("crash")
        await wait_all_tasks_blocked()
        assert record.events == expected
        assert await it.ref("b").ask("hello") == "hello"


@pytest.mark.parametrize("restarts", [0, 1, 3])
async def test_intensity_is_exact_and_every_cause_is_kept(
    restarts: int, autojump_clock: MockClock
) -> None:
    record = Recorder()
    async with tree([record.child("a")], limit=Limit(restarts, 60)) as it:
        for crashes in range(restarts + 1):
            assert not it.over.is_set(), crashes
            it.ref("a").tell("crash")
            await wait_all_tasks_blocked()
        await it.over.wait()
    assert len(it.failure.causes) == restarts + 1
    assert record.events.count("+a") == restarts + 1
    assert [str(cause) for cause in it.failure.causes] == ["crash of a"] * (restarts + 1)


async def test_crashes_spread_over_time_never_use_up_the_budget(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    async with tree([record.child("a")], limit=Limit(1, 60)) as it:
        for _ in range(20):
            it.ref("a").tell("crash")
            await trio.sleep(60)
        assert not it.over.is_set()
        assert record.events.count("+a") == 21


async def test_escalation_ends_the_siblings_in_reverse_order(autojump_clock: MockClock) -> None:
    record = Recorder()
    async with tree([record.child(name) for name in "abc"], limit=Limit(0, 60)) as it:
        it.ref("b").tell("crash")
        await it.over.wait()
    assert record.events[3:] == ["-b", "-c", "-a"]
    assert it.failure.child == "b"


async def test_a_branch_that_gives_up_is_restarted_by_the_one_above_with_the_same_addresses(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    leaf = record.child("leaf")
    inner = Branch(name="inner", children=(leaf,), limit=Limit(0, 60))
    async with tree([record.child("first"), inner], limit=Limit(1, 60)) as it:
        ref = leaf.ref
        ref.tell("crash")
        await wait_all_tasks_blocked()
        assert await ref.ask("still me") == "still me"
        ref.tell("crash")
        await it.over.wait()
    assert record.events == ["+first", "+leaf", "-leaf", "+leaf", "-leaf", "-first"]
    assert [type(cause) for cause in it.failure.causes] == [Escalation, Escalation]
    inner_failure = it.failure.causes[-1]
    assert isinstance(inner_failure, Escalation)
    assert [str(cause) for cause in inner_failure.causes] == ["crash of leaf"]


async def test_an_error_that_no_restart_helps_goes_up_at_once(autojump_clock: MockClock) -> None:
    class Misconfigured(Actor[str]):
        async def started(self) -> None:
            raise ConfigError(["hermes.toml: store.url: wrong"])

    inner = Branch(name="inner", children=(worker("bad", Misconfigured),), limit=Limit(100, 60))
    async with tree([inner], limit=Limit(100, 60)) as it:
        await it.over.wait()
    assert it.failure.child == "inner"
    assert isinstance(it.failure.causes[0], ConfigError)


async def test_transient_and_temporary_children_that_end_are_retired(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    children = [
        record.child("transient", restart=Restart.TRANSIENT),
        record.child("temporary", restart=Restart.TEMPORARY),
    ]
    async with tree(children) as it:
        it.ref("transient").stop("done")
        it.ref("temporary").tell("crash")
        await wait_all_tasks_blocked()
        with pytest.raises(ActorGone, match="done"):
            it.ref("transient").tell("hello")
        with pytest.raises(ActorGone, match="crash of temporary"):
            await it.ref("temporary").ask("hello")
        assert record.events.count("+transient") == record.events.count("+temporary") == 1


async def test_restarts_back_off_and_only_proof_of_life_resets_the_delay(
    autojump_clock: MockClock,
) -> None:
    record, starts = Recorder(), list[float]()

    class Timed(Member):
        async def started(self) -> None:
            starts.append(trio.current_time())

    child = worker("a", lambda: Timed("a", record.events), backoff=Backoff(first=1, most=60))
    async with tree([child], limit=Limit(100, 1000), dice=0.5) as it:
        for pause in (1, 1, 2, 4):
            it.ref("a").tell("crash")
            await trio.sleep(pause)
        await it.ref("a").ask("prove")
        it.ref("a").tell("crash")
        await trio.sleep(1)
    assert starts == [0, 0.5, 2.0, 4.0, 8.0, 8.5]


async def test_a_child_in_backoff_does_not_hold_up_its_siblings(autojump_clock: MockClock) -> None:
    record = Recorder()
    slow = record.child("slow", backoff=Backoff(first=60, most=60))
    async with tree([slow, record.child("quick")]) as it:
        it.ref("slow").tell("crash")
        await wait_all_tasks_blocked()
        it.ref("quick").tell("crash")
        await wait_all_tasks_blocked()
        assert record.events[-2:] == ["-quick", "+quick"]
        it.root.stop("enough")
        await it.over.wait()
        assert trio.current_time() == 0


async def test_a_crash_at_start_counts_like_any_other(autojump_clock: MockClock) -> None:
    attempts: list[int] = []

    class Unlucky(Actor[str]):
        async def started(self) -> None:
            attempts.append(1)
            if len(attempts) < 3:
                raise OSError("not yet")

    record = Recorder()
    children = [record.child("a"), worker("unlucky", Unlucky), record.child("z")]
    async with tree(children, Strategy.REST_FOR_ONE, Limit(2, 60)) as it:
        assert it.up.is_set()
        assert len(attempts) == 3
        assert record.events == ["+a", "+z"]


async def test_a_child_that_cannot_even_be_made_is_a_crash(autojump_clock: MockClock) -> None:
    def make() -> Actor[str]:
        raise TypeError("no such thing")

    async with tree([worker("a", make)], limit=Limit(1, 60)) as it:
        await it.over.wait()
    assert [repr(cause) for cause in it.failure.causes] == ["TypeError('no such thing')"] * 2


async def test_a_crash_in_clean_up_during_a_siblings_restart_is_kept(
    autojump_clock: MockClock,
) -> None:
    class Clumsy(Actor[str]):
        async def stopped(self) -> None:
            raise OSError("dropped it")

    record = Recorder()
    async with tree(
        [record.child("a"), worker("clumsy", Clumsy)], Strategy.ONE_FOR_ALL, Limit(1, 60)
    ) as it:
        it.ref("a").tell("crash")
        await wait_all_tasks_blocked()
        it.ref("a").tell("crash")
        await it.over.wait()
    assert [str(cause) for cause in it.failure.causes] == [
        "crash of a",
        "dropped it",
        "crash of a",
        "dropped it",
    ]


async def test_two_children_crashing_in_one_step_are_restarted_once_each(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    async with tree([record.child(name) for name in "ab"], Strategy.ONE_FOR_ALL) as it:
        it.ref("a").tell("crash")
        it.ref("b").tell("crash")
        await wait_all_tasks_blocked()
        assert sorted(record.events) == ["+a", "+a", "+b", "+b", "-a", "-b"]


async def test_draining_gives_each_child_its_own_time(autojump_clock: MockClock) -> None:
    record = Recorder()
    children = [record.child("a", drain=10.0), record.child("b", drain=10.0)]
    async with tree(children) as it:
        it.ref("a").tell("work 3")
        it.ref("b").tell("work 99")
        await wait_all_tasks_blocked()
        it.root.drain("closing")
        await it.over.wait()
        assert trio.current_time() == 10
    assert record.events == ["+a", "+b", "a worked", "-b", "-a"]


async def test_stop_during_a_drain_ends_the_waiting_at_once(autojump_clock: MockClock) -> None:
    record = Recorder()
    deep = record.child("deep", drain=500.0)
    inner = Branch(name="inner", children=(deep,))
    async with tree([record.child("a", drain=500.0), inner]) as it:
        deep.ref.tell("work 400")
        it.ref("a").tell("work 400")
        await wait_all_tasks_blocked()
        it.root.drain("closing")
        await trio.sleep(7)
        it.root.stop("no more time")
        await it.over.wait()
        assert trio.current_time() == 7
    assert record.events == ["+a", "+deep", "-deep", "-a"]


async def test_shutdown_does_not_wait_for_a_child_that_is_still_starting(
    autojump_clock: MockClock,
) -> None:
    class Slow(Actor[str]):
        async def started(self) -> None:
            await trio.sleep(25)

    record = Recorder()
    async with tree([record.child("a"), worker("slow", Slow), record.child("never")]) as it:
        it.root.drain("closing")
        await it.over.wait()
        assert trio.current_time() == 0
    assert record.events == ["+a", "-a"]


async def test_a_child_that_swallows_cancellation_is_reported_and_the_rest_still_ends(
    autojump_clock: MockClock,
) -> None:
    release = trio.Event()

    class Stubborn(Actor[str]):
        async def receive(self, message: str) -> object:
            with trio.CancelScope(shield=True):
                await release.wait()
            return None

    record = Recorder()
    async with tree([record.child("a"), worker("stubborn", Stubborn, grace=2.0)]) as it:
        it.ref("stubborn").tell("hold on")
        await wait_all_tasks_blocked()
        it.root.stop("closing")
        await trio.sleep(10)
        stuck = [
            entry["child"] for entry in it.system.journal.recent() if entry.kind == "child.stuck"
        ]
        assert stuck == ["stubborn"]
        assert record.events == ["+a", "-a"]
        release.set()


async def test_after_the_end_every_address_answers_at_once(autojump_clock: MockClock) -> None:
    record = Recorder()
    leaf = record.child("leaf")
    async with tree([record.child("a"), Branch(name="inner", children=(leaf,))]) as it:
        it.root.stop("closing")
        await it.over.wait()
        for ref in (it.ref("a"), leaf.ref):
            with pytest.raises(ActorGone):
                await ref.ask("anyone?")


async def test_cancelling_the_whole_tree_cleans_up_everyone_in_reverse_order(
    autojump_clock: MockClock,
) -> None:
    record = Recorder()
    branch = Branch(name="root", children=tuple(record.child(name) for name in "ab"))
    system = System()
    with trio.move_on_after(1):
        await run_tree(Supervisor(branch, system), system)
    assert record.events == ["+a", "+b", "-b", "-a"]


async def test_nothing_of_the_callers_context_reaches_a_supervised_actor(
    autojump_clock: MockClock,
) -> None:
    who = contextvars.ContextVar("who", default="nobody")
    seen: list[str] = []

    class Look(Actor[str]):
        async def started(self) -> None:
            seen.append(who.get())

    who.set("the caller")
    async with tree([worker("look", Look)]):
        pass
    assert seen == ["nobody"]


async def test_the_tree_can_be_printed(autojump_clock: MockClock) -> None:
    record = Recorder()
    inner = Branch(name="inner", children=(record.child("leaf"),))
    async with tree([record.child("a"), inner, record.child("z")]) as it:
        it.ref("a").tell("work 50")
        it.ref("a").tell("later")
        await trio.sleep(5)
        assert render(it.root.describe()) == (
            "root  one_for_one · running · 5s\n"
            "├─ a  Member · working · 5s · 1 waiting, oldest 5.0s\n"
            "├─ inner  one_for_one · running · 5s\n"
            "│  └─ leaf  Member · idle · 5s\n"
            "└─ z  Member · idle · 5s"
        )


def test_two_children_of_one_name_are_refused() -> None:
    record = Recorder()

    async def build() -> None:
        Supervisor(Branch(name="root", children=(record.child("a"), record.child("a"))), System())

    with pytest.raises(ValueError, match="same name"):
        trio.run(build)
