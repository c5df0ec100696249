"""Random days in a house of actors: any order of any events must leave the books balanced.

The sweeps cut known stories at every step; here nobody wrote the story. Everything random comes
from one seed, so a day that goes wrong can be lived again: `one_day` with that seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import trio

from hermes_actors.testing.sweep import Stage, Take, replay
from tests.scenarios.library import Library

TITLES = ("dune", "emma", "ulysses", "middlemarch")
WORK = ("quick", "quick", "quick", "slow", "slow", "crash", "no", "long", "child")
PAUSES = (0.0, 0.0, 0.0, 0.1, 0.5, 1.0, 3.0)


class Day:
    """One seed's worth of events."""

    def __init__(self, library: Library, nursery: trio.Nursery, dice: random.Random) -> None:
        self._library, self._nursery, self._dice = library, nursery, dice
        self._sent = 0

    def happen(self) -> None:
        """One event."""
        events: tuple[Callable[[], object], ...] = (
            *(self._tell, self._tell, self._ask, self._ask, self._ask_and_leave),
            *(self._interrupt, self._interrupt_all, self._stop, self._drain),
            *(self._library.unload, self._unload_and_tell, self._crash_a_sibling, self._release),
        )
        self._dice.choice(events)()

    def _message(self) -> str:
        self._sent += 1
        return f"{self._dice.choice(WORK)} {self._sent}"

    def _someone(self) -> str:
        return self._dice.choice(TITLES)

    def _tell(self) -> None:
        self._library.tell(self._someone(), self._message())

    def _ask(self) -> None:
        self._nursery.start_soon(self._library.ask, self._someone(), self._message())

    def _ask_and_leave(self) -> None:
        ref = self._library.registry.ref(self._someone())
        patience = self._dice.choice(PAUSES)
        self._nursery.start_soon(
            self._library.ledger.ask_for_a_while, ref, self._message(), patience
        )

    def _interrupt(self) -> None:
        self._library.registry.ref(self._someone()).interrupt("chance")

    def _interrupt_all(self) -> None:
        self._library.registry.ref(self._someone()).interrupt("chance", drop_queued=True)

    def _stop(self) -> None:
        self._library.registry.ref(self._someone()).stop("chance")

    def _drain(self) -> None:
        self._library.registry.ref(self._someone()).drain("chance")

    def _unload_and_tell(self) -> None:
        self._library.unload()
        self._tell()

    def _crash_a_sibling(self) -> None:
        self._sent += 1
        self._library.ledger.tell(self._library.ref("a"), f"crash {self._sent}")

    def _release(self) -> None:
        self._library.registry.release(self._someone())


async def one_day(stage: Stage) -> None:
    """Forty events, then the house closes: in good order, in a hurry, or cut."""
    dice = random.Random(stage.seed)
    library = Library(stage, max_live=dice.choice((2, 3, 10)))
    stage.arm()
    with trio.CancelScope() as everything:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(library.run)
            await library.ready.wait()
            day = Day(library, nursery, dice)
            for _ in range(40):
                day.happen()
                await trio.sleep(dice.choice(PAUSES))
            close = dice.choice((library.root.drain, library.root.stop, everything.cancel))
            close("the day is over")
            await library.over.wait()


def check_day(stage: Stage) -> None:
    library: Library = stage.world
    library.check()


def live(seed: int) -> Take:
    return replay(one_day, "none", 0, seed, verify=check_day)


@pytest.mark.slow
def test_whatever_happens_the_books_balance() -> None:
    failures = [failure for seed in range(250) for failure in live(seed).failures]
    assert not failures, "\n".join(map(str, failures))


def test_the_same_seed_is_the_same_day_and_another_seed_is_another() -> None:
    days = [live(seed).log.lines() for seed in (1, 1, 2)]
    assert days[0] == days[1]
    assert days[0] != days[2]
