from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import ActorGone, Overloaded
from hermes_actors.runtime import Actor, Down, Registry, System
from supervisors.crowd import CrowdSupervisor
from supervisors.policy import Limit
from supervisors.spec import Crowd, Door
from tests.hermes_actors.runtime.actors import Diary, living


class Library:
    """What survives: the shelf from which an activation is loaded, and how many are open."""

    def __init__(self) -> None:
        self.shelf: dict[str, list[str]] = {}
        self.open = 0
        self.most_open: dict[str, int] = {}
        self.loads = 0


class Book(Actor[str]):
    """Loads its words when started, writes them back when stopped; both take time."""

    def __init__(self, title: str, library: Library) -> None:
        self._title, self._library = title, library
        self._words: list[str] = []

    async def started(self) -> None:
        library = self._library
        library.loads += 1
        library.most_open[self._title] = library.most_open.get(self._title, 0) + 1
        assert library.most_open[self._title] == 1, "two activations at once"
        await trio.sleep(0.5)
        self._words = list(library.shelf.get(self._title, []))

    async def receive(self, message: str) -> object:
        if message == "crash":
            raise ValueError("torn page")
        if message == "read":
            return list(self._words)
        await trio.sleep(0.1)
        self._words.append(message)
        return len(self._words)

    async def stopped(self) -> None:
        await trio.sleep(0.5)
        self._library.shelf[self._title] = list(self._words)
        self._library.most_open[self._title] -= 1


class Shop:
    """A registry of books under a real crowd supervisor."""

    def __init__(self, idle: float, max_live: int, limit: Limit) -> None:
        self.library, self.system = Library(), System()
        self.door = Door("books")
        self.crowd = CrowdSupervisor(
            Crowd(name="books", door=self.door, limit=limit), self.system, dice=lambda: 0.5
        )
        self.registry: Registry[str] = Registry(
            lambda title: Book(title, self.library),
            self.door,
            self.system,
            idle=idle,
            max_live=max_live,
        )

    def kinds(self, prefix: str) -> list[str]:
        return [e.kind for e in self.system.journal.recent() if e.kind.startswith(prefix)]


@asynccontextmanager
async def shop(
    idle: float = 60, max_live: int = 100, limit: Limit | None = None
) -> AsyncIterator[Shop]:
    it = Shop(idle, max_live, limit or Limit(2, 60))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(it.crowd.run)
        nursery.start_soon(it.registry.unload_idle)
        await wait_all_tasks_blocked()
        yield it
        it.crowd.stop("closing time")
        nursery.cancel_scope.cancel()


async def test_the_first_message_activates_and_control_never_does(
    autojump_clock: MockClock,
) -> None:
    async with shop() as it:
        ref = it.registry.ref("dune")
        assert not ref.interrupt("x")
        assert not ref.signal("x")
        ref.stop("x")
        assert it.registry.live() == []
        assert await ref.ask("arrakis") == 1
        assert it.registry.live() == ["dune"]


async def test_a_thousand_first_messages_make_one_activation(autojump_clock: MockClock) -> None:
    async with shop() as it, trio.open_nursery() as nursery:
        for _ in range(500):
            nursery.start_soon(it.registry.ref("dune").ask, "word")
            it.registry.ref("dune").tell("word")
        await trio.sleep(300)
        assert it.library.loads == 1
        assert await it.registry.ref("dune").ask("read") == ["word"] * 1000


async def test_an_idle_actor_unloads_and_comes_back_with_its_state(
    autojump_clock: MockClock,
) -> None:
    async with shop(idle=60) as it:
        ref = it.registry.ref("dune")
        await ref.ask("spice")
        await trio.sleep(100)
        assert it.registry.live() == []
        assert not ref.alive
        assert await ref.ask("read") == ["spice"]
        assert it.library.loads == 2


async def test_a_message_that_arrives_while_unloading_is_handled_by_the_successor(
    autojump_clock: MockClock,
) -> None:
    async with shop(idle=60) as it:
        ref = it.registry.ref("dune")
        await ref.ask("spice")
        it.registry.unload_since(trio.current_time())
        await wait_all_tasks_blocked()
        ref.tell("worm")
        assert await ref.ask("read") == ["spice", "worm"]
        assert it.library.loads == 2
        assert it.system.letters_buried == 0


@pytest.mark.parametrize("step", range(12))
async def test_a_message_at_each_moment_of_unloading_is_never_lost(
    step: int, autojump_clock: MockClock
) -> None:
    async with shop(idle=60) as it:
        ref = it.registry.ref("dune")
        await ref.ask("spice")
        it.registry.unload_since(trio.current_time())
        for _ in range(step):
            await trio.lowlevel.checkpoint()
        ref.tell("worm")
        assert await ref.ask("read") == ["spice", "worm"]
        assert it.system.letters_buried == 0


async def test_a_busy_actor_does_not_unload(autojump_clock: MockClock) -> None:
    async with shop() as it:
        it.registry.ref("dune").tell("spice")
        assert it.registry.unload_since(trio.current_time()) == 0


async def test_at_the_limit_the_idlest_leaves_and_a_busy_house_refuses(
    autojump_clock: MockClock,
) -> None:
    async with shop(max_live=2) as it:
        await it.registry.ref("a").ask("1")
        await it.registry.ref("b").ask("1")
        await it.registry.ref("c").ask("1")
        assert sorted(it.registry.live()) == ["b", "c"]
        it.registry.ref("b").tell("2")
        it.registry.ref("c").tell("2")
        with pytest.raises(Overloaded, match="2 are live and busy"):
            it.registry.ref("d").tell("1")


async def test_an_address_that_keeps_crashing_is_quarantined_and_can_be_released(
    autojump_clock: MockClock,
) -> None:
    async with shop(limit=Limit(2, 60)) as it:
        ref = it.registry.ref("cursed")
        for _ in range(3):
            with pytest.raises(ActorGone, match="torn page"):
                await ref.ask("crash")
        await trio.sleep(5)
        with pytest.raises(ActorGone, match="quarantined"):
            ref.tell("hello")
        assert list(it.registry.quarantined()) == ["cursed"]
        assert await it.registry.ref("other").ask("fine") == 1
        assert it.registry.release("cursed")
        assert await ref.ask("again") == 1


async def test_a_watched_activation_reports_when_it_unloads(autojump_clock: MockClock) -> None:
    watcher = Diary()
    async with living(watcher) as alive, shop() as it:
        ref = it.registry.ref("dune")
        ref.watch(alive.ref)
        await ref.ask("spice")
        ref.watch(alive.ref)
        await trio.sleep(200)
        assert watcher.pages == [
            "started",
            f"heard {Down('dune', 'not running')}",
            f"heard {Down('dune', 'idle')}",
        ]


async def test_an_actors_own_ref_outlives_its_activation(autojump_clock: MockClock) -> None:
    class Giver(Actor[Any]):
        async def receive(self, message: Any) -> object:
            return self.ref

    async with shop() as it:
        registry: Registry[Any] = Registry(lambda _: Giver(), it.door, it.system)
        ref = await registry.ref("giver").ask("who are you")
        registry.unload_since(trio.current_time())
        await wait_all_tasks_blocked()
        assert registry.live() == []
        assert (await ref.ask("again")).name == "giver"


async def test_nobody_is_adopted_by_a_crowd_that_ends(autojump_clock: MockClock) -> None:
    async with shop() as it:
        it.crowd.stop("closing")
        with pytest.raises(ActorGone):
            it.registry.ref("late").tell("hello")
        await wait_all_tasks_blocked()
        with pytest.raises(ActorGone, match="not running"):
            it.registry.ref("later").tell("hello")
        assert it.registry.live() == []


async def test_activations_are_recorded_in_pairs(autojump_clock: MockClock) -> None:
    async with shop() as it:
        await it.registry.ref("dune").ask("x")
        await trio.sleep(200)
        assert it.kinds("activation") == ["activation.started", "activation.ended"]
