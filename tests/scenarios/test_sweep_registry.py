"""Addresses that come and go are cut, woken and unloaded at every step.

Beside what holds for every actor: never two activations of one address, and what was written to
an address is there when it is read, however often it left memory in between.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio

from hermes_actors.runtime import Registry
from hermes_actors.testing.sweep import Stage
from supervisors.policy import Limit
from supervisors.spec import Crowd, Door
from tests.scenarios.house import House, sweep
from tests.scenarios.ledger import Clerk, Ledger


class Shelf:
    """What is left when nothing is in memory: the words of each book, and who has it open."""

    def __init__(self) -> None:
        self.words: dict[str, list[str]] = {}
        self.open: dict[str, int] = {}
        self.most_open = 0

    def take(self, title: str) -> list[str]:
        self.open[title] = self.open.get(title, 0) + 1
        self.most_open = max(self.most_open, self.open[title])
        return list(self.words.get(title, []))

    def put_back(self, title: str, words: list[str]) -> None:
        self.open[title] -= 1
        self.words[title] = words


class Book(Clerk):
    """Loads its words when started and puts them back when stopped; both take time."""

    def __init__(self, title: str, ledger: Ledger, shelf: Shelf) -> None:
        super().__init__(title, ledger)
        self._shelf = shelf
        self._words: list[str] = []
        self._loaded = False

    async def started(self) -> None:
        await trio.lowlevel.checkpoint()
        self._words = self._shelf.take(self.name)
        self._loaded = True

    async def work(self, kind: str, message: str) -> object:
        answer = await super().work(kind, message)
        self._words.append(message)
        return answer

    async def stopped(self) -> None:
        await trio.sleep(0.5)
        if self._loaded:
            self._shelf.put_back(self.name, self._words)


class Library(House):
    """A house with a registry of books under a crowd."""

    def __init__(self, stage: Stage, max_live: int = 10) -> None:
        super().__init__(stage)
        self.shelf, door = Shelf(), Door("books")
        self.registry: Registry[str] = Registry(
            lambda title: Book(title, self.ledger, self.shelf),
            door,
            self.system,
            capacity=2,
            idle=60,
            max_live=max_live,
        )
        crowd = Crowd(name="books", door=door, drain=30.0, limit=Limit(2, 60))
        self.build([self.clerk("a"), crowd])

    def unload(self) -> None:
        self.registry.unload_since(trio.current_time())

    async def ask(self, title: str, message: str) -> object:
        return await self.ledger.ask(self.registry.ref(title), message)

    def tell(self, title: str, message: str) -> None:
        self.ledger.tell(self.registry.ref(title), message)

    def check(self) -> None:
        super().check()
        assert self.registry.live() == []
        assert self.shelf.most_open <= 1, "a book was open twice"
        assert not any(self.shelf.open.values()), "a book was not put back"
        for title, words in self.shelf.words.items():
            assert len(set(words)) == len(words), f"'{title}' has something twice: {words}"
        kept = {word for words in self.shelf.words.values() for word in words}
        done = {text for text, fates in self.ledger.fates.items() if "done" in fates}
        assert done <= kept, f"done, but not kept: {done - kept}"


async def coming_and_going(stage: Stage, cut: Callable[[Library], Any]) -> None:
    """Two addresses are woken, used, unloaded and woken again."""
    library = Library(stage)
    stage.on_stop(lambda: cut(library))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(library.run)
        await library.ready.wait()
        stage.arm()
        nursery.start_soon(library.ask, "dune", "quick one")
        nursery.start_soon(library.ask, "dune", "slow two")
        library.tell("emma", "quick three")
        await trio.sleep(2)
        library.unload()
        await trio.sleep(0.25)
        library.tell("dune", "quick four")
        await library.ask("dune", "quick five")
        library.unload()
        await trio.sleep(5)
        await library.ask("dune", "quick six")
        await library.close()


def wake(library: Library) -> None:
    """Somebody writes to both addresses at this very step."""
    library.tell("dune", "quick by the cut")
    library.tell("emma", "slow by the cut")


def unload_and_wake(library: Library) -> None:
    """The worst neighbours: leaving and being called back in one step."""
    library.unload()
    wake(library)


CUTS = [Library.unload, wake, unload_and_wake]


@pytest.mark.slow
def test_closing_the_house_at_every_step_of_activation_and_unloading() -> None:
    sweep(partial(coming_and_going, cut=lambda library: library.root.stop("cut")))


def check_nothing_is_missing(stage: Stage) -> None:
    """Unless the whole house was cut, every word that was sent is on the shelf."""
    library: Library = stage.world
    library.check()
    if stage.mode == "turn" or not stage.struck:
        sent = {*library.ledger.told, *library.ledger.asked}
        kept = {word for words in library.shelf.words.values() for word in words}
        assert sent == kept, f"missing: {sent - kept}"


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS)
def test_whatever_is_sent_at_whatever_step_of_an_unload_is_on_the_shelf_in_the_end(
    cut: Callable[[Library], Any],
) -> None:
    sweep(partial(coming_and_going, cut=cut), check_nothing_is_missing)


async def a_full_house(stage: Stage) -> None:
    """Three addresses want in where two may be; the idlest leaves for the newcomer."""
    library = Library(stage, max_live=2)
    stage.on_stop(library.unload)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(library.run)
        await library.ready.wait()
        await library.ask("dune", "quick one")
        stage.arm()
        await library.ask("emma", "quick two")
        for title in ("ulysses", "middlemarch"):
            nursery.start_soon(library.ask, title, f"quick for {title}")
        await trio.sleep(5)
        await library.close()


@pytest.mark.slow
def test_a_house_at_its_limit_cut_at_every_step() -> None:
    sweep(a_full_house)


async def a_cursed_address(stage: Stage) -> None:
    """One address crashes until it is quarantined, beside one that must not notice."""
    library = Library(stage)
    stage.on_stop(library.unload)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(library.run)
        await library.ready.wait()
        stage.arm()
        for number in range(3):
            nursery.start_soon(library.ask, "cursed", f"crash {number}")
        await library.ask("dune", "slow one")
        await trio.sleep(5)
        await library.ask("cursed", "quick two")
        await library.close()


@pytest.mark.slow
def test_a_quarantine_cut_at_every_step() -> None:
    sweep(a_cursed_address)
