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

from hermes_actors.testing.sweep import Stage
from tests.scenarios.house import sweep
from tests.scenarios.library import Library


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
