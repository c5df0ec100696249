"""What happens around a child that will not end."""

from __future__ import annotations

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.runtime import Actor, System
from supervisors.policy import Strategy
from supervisors.spec import Branch, worker
from supervisors.supervisor import Supervisor, run_tree
from tests.supervisors.trees import Recorder, tree


class Clinging(Actor[str]):
    """Holds on to its work, whatever it is told, until `release` is set."""

    def __init__(self, release: trio.Event, alive: list[int]) -> None:
        self._release, self._alive = release, alive

    async def started(self) -> None:
        self._alive.append(1)

    async def receive(self, message: str) -> object:
        with trio.CancelScope(shield=True):
            await self._release.wait()
        return None

    async def stopped(self) -> None:
        self._alive.pop()


async def test_nobody_is_born_twice_when_the_first_life_will_not_end(
    autojump_clock: MockClock,
) -> None:
    release, alive = trio.Event(), list[int]()
    record = Recorder()
    stubborn = worker("stubborn", lambda: Clinging(release, alive), grace=2.0)
    async with tree([record.child("a"), stubborn], Strategy.ONE_FOR_ALL) as it:
        it.ref("stubborn").tell("hold on")
        await wait_all_tasks_blocked()
        it.ref("a").tell("crash")
        await trio.sleep(60)
        assert alive == [1]
        assert record.events == ["+a", "-a", "+a"]
        release.set()
        await wait_all_tasks_blocked()
        assert alive == [1]
        assert it.ref("stubborn").alive


async def test_a_stop_while_waiting_for_a_clinging_life_still_ends_the_rest(
    autojump_clock: MockClock,
) -> None:
    release, alive = trio.Event(), list[int]()
    record = Recorder()
    stubborn = worker("stubborn", lambda: Clinging(release, alive), grace=2.0)
    async with tree([record.child("a"), stubborn], Strategy.ONE_FOR_ALL) as it:
        it.ref("stubborn").tell("hold on")
        await wait_all_tasks_blocked()
        it.ref("a").tell("crash")
        await trio.sleep(60)
        it.root.stop("closing")
        await trio.sleep(10)
        assert record.events == ["+a", "-a", "+a", "-a"]
        release.set()


async def test_a_second_order_does_not_wait_out_the_drain_of_who_clings(
    autojump_clock: MockClock,
) -> None:
    release, alive = trio.Event(), list[int]()
    record = Recorder()
    stubborn = worker("stubborn", lambda: Clinging(release, alive), drain=500.0, grace=2.0)
    async with tree([record.child("a"), stubborn]) as it:
        it.ref("stubborn").tell("hold on")
        await wait_all_tasks_blocked()
        it.root.drain("closing")
        await trio.sleep(7)
        it.root.stop("no more time")
        await trio.sleep(5)
        assert record.events == ["+a", "-a"]
        release.set()


async def test_a_child_that_clings_to_a_cancelled_tree_does_not_keep_the_others_from_ending(
    autojump_clock: MockClock,
) -> None:
    release, alive = trio.Event(), list[int]()
    record, system = Recorder(), System()
    stubborn = worker("stubborn", lambda: Clinging(release, alive), grace=2.0)
    branch = Branch(name="root", children=(record.child("a"), stubborn, record.child("c")))
    async with trio.open_nursery() as nursery:
        stubborn.ref.tell("hold on")
        nursery.start_soon(run_tree, Supervisor(branch, system), system)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await trio.sleep(10)
        assert record.events == ["+a", "+c", "-c", "-a"]
        release.set()
