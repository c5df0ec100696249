"""Limits, quarantine and a house that is closing, at the moments that hurt."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import ActorGone, ConfigError, Escalation, Overloaded
from hermes_actors.runtime import Actor, Registry, System
from supervisors.crowd import CrowdSupervisor
from supervisors.policy import Limit, Restart
from supervisors.spec import Crowd, Door
from tests.hermes_actors.runtime.test_registry import shop


async def test_leaving_actors_make_room_before_they_have_left(autojump_clock: MockClock) -> None:
    async with shop(max_live=2) as it:
        for title in "ab":
            await it.registry.ref(title).ask("word")
        assert it.registry.unload_since(trio.current_time()) == 2
        await wait_all_tasks_blocked()
        assert await it.registry.ref("c").ask("word") == 1


async def test_one_idle_actor_makes_room_for_one_newcomer_only(autojump_clock: MockClock) -> None:
    async with shop(max_live=2) as it:
        await it.registry.ref("idle").ask("word")
        await it.registry.ref("busy").ask("word")
        it.registry.ref("busy").tell("more")
        it.registry.ref("first").tell("word")
        with pytest.raises(Overloaded, match="2 are live and busy"):
            it.registry.ref("second").tell("word")


async def test_an_unload_is_counted_once(autojump_clock: MockClock) -> None:
    async with shop() as it:
        await it.registry.ref("a").ask("word")
        moment = trio.current_time()
        assert [it.registry.unload_since(moment), it.registry.unload_since(moment)] == [1, 0]


async def test_what_waits_for_a_successor_is_told_why_when_the_house_is_cut(
    autojump_clock: MockClock,
) -> None:
    async with shop() as it, trio.open_nursery() as nursery:
        ref = it.registry.ref("dune")
        await ref.ask("spice")
        it.registry.unload_since(trio.current_time())
        await wait_all_tasks_blocked()

        async def ask() -> None:
            with pytest.raises(ActorGone, match="closing time"):
                await ref.ask("read")

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        ref.tell("a last word")
        it.crowd.stop("closing time")
        await trio.sleep(5)
        assert [letter.message for letter in it.system.dead_letters()] == ["a last word"]
        assert it.registry.live() == []


async def test_what_waits_for_a_successor_is_still_done_when_the_house_closes_in_good_order(
    autojump_clock: MockClock,
) -> None:
    async with shop() as it:
        ref = it.registry.ref("dune")
        await ref.ask("spice")
        it.registry.unload_since(trio.current_time())
        await wait_all_tasks_blocked()
        ref.tell("a last word")
        it.crowd.drain("closing time")
        await trio.sleep(5)
        assert it.library.shelf["dune"] == ["spice", "a last word"]
        assert it.system.letters_buried == 0
        with pytest.raises(ActorGone, match="not running"):
            ref.tell("too late")


async def test_a_crash_while_the_house_closes_puts_nobody_in_quarantine(
    autojump_clock: MockClock,
) -> None:
    async with shop() as it:
        it.registry.ref("dune").tell("crash")
        it.crowd.drain("closing")
        await trio.sleep(5)
        assert it.registry.quarantined() == {}


class Odd(Actor[str]):
    """Raises what it was made with."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        self._error = error

    async def receive(self, message: str) -> object:
        raise self._error()


async def crowd_of(
    each: Restart, error: Callable[[], Exception], nursery: trio.Nursery
) -> Registry[str]:
    """A registry of odd actors, without restarts in hand."""
    system, door = System(), Door("odd")
    spec = Crowd(name="odd", door=door, each=each, limit=Limit(0, 60))
    nursery.start_soon(CrowdSupervisor(spec, system).run)
    await wait_all_tasks_blocked()
    return Registry(lambda _: Odd(error), door, system)


async def test_a_temporary_actor_that_crashed_can_be_activated_again(
    autojump_clock: MockClock,
) -> None:
    async with trio.open_nursery() as nursery:
        registry = await crowd_of(Restart.TEMPORARY, lambda: ValueError("once"), nursery)
        for _ in range(3):
            with pytest.raises(ActorGone, match="once"):
                await registry.ref("a").ask("x")
            await wait_all_tasks_blocked()
        assert registry.quarantined() == {}
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "error",
    [
        ConfigError(["a: wrong"]),
        ExceptionGroup("two", [ValueError("beside it"), ConfigError(["a: wrong"])]),
    ],
    ids=["alone", "in company"],
)
async def test_an_error_that_no_restart_helps_is_quarantined_at_once(
    error: Exception, autojump_clock: MockClock
) -> None:
    async with trio.open_nursery() as nursery:
        registry = await crowd_of(Restart.TRANSIENT, lambda: error, nursery)
        registry.ref("a").tell("x")
        await wait_all_tasks_blocked()
        assert list(registry.quarantined()) == ["a"]
        nursery.cancel_scope.cancel()


async def test_two_refs_to_one_address_are_equal(autojump_clock: MockClock) -> None:
    async with shop() as it:
        assert it.registry.ref("a") == it.registry.ref("a")
        assert it.registry.ref("a") != it.registry.ref("b")


async def test_an_ask_of_a_quarantined_address_in_a_loop_can_be_cancelled(
    autojump_clock: MockClock,
) -> None:
    async with shop(limit=Limit(0, 60)) as it:
        ref = it.registry.ref("cursed")
        ref.tell("crash")
        await trio.sleep(5)
        with trio.CancelScope() as scope:
            scope.cancel()
            await ref.ask("x")
        assert scope.cancelled_caught


async def test_quarantine_says_how_often_and_why(autojump_clock: MockClock) -> None:
    async with shop(limit=Limit(1, 60)) as it:
        for _ in range(2):
            it.registry.ref("cursed").tell("crash")
        await trio.sleep(5)
        assert it.registry.quarantined() == {
            "cursed": str(Escalation("books", "cursed", [ValueError("torn page")] * 2))
        }


class Returning(Actor[str]):
    """Cannot leave the first time: its clean-up fails, and it is brought back."""

    def __init__(self, failures: list[str]) -> None:
        self._failures = failures

    async def receive(self, message: str) -> object:
        return message

    async def stopped(self) -> None:
        if self._failures:
            raise OSError(self._failures.pop())


async def test_whoever_comes_back_instead_of_leaving_takes_up_room_again(
    autojump_clock: MockClock,
) -> None:
    system, door, failures = System(), Door("house"), ["not yet"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(CrowdSupervisor(Crowd(name="house", door=door), system).run)
        await wait_all_tasks_blocked()
        registry = Registry(lambda _: Returning(failures), door, system, max_live=1)
        await registry.ref("a").ask("hello")
        assert registry.unload_since(trio.current_time()) == 1
        await wait_all_tasks_blocked()
        assert registry.live() == ["a"]
        assert await registry.ref("b").ask("hello") == "hello"
        await wait_all_tasks_blocked()
        assert registry.live() == ["b"]
        nursery.cancel_scope.cancel()
