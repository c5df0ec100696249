"""A tree is cut at every step of starting, crashing, restarting, escalating and closing.

Beside what holds for every actor: nobody lives twice at once, children that are ended by their
supervisor end in reverse order, and a supervisor that gives up names every crash.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import trio

from hermes_actors.errors import Escalation
from hermes_actors.pure.backoff import Backoff
from hermes_actors.runtime import Ended, How, Mailbox, Ref
from hermes_actors.testing.sweep import Stage
from supervisors.policy import Limit, Strategy
from supervisors.spec import Branch, Crowd, Door
from tests.scenarios.house import House, check_house, sweep
from tests.scenarios.ledger import Clerk


def stop(house: House) -> None:
    house.root.stop("cut")


def drain(house: House) -> None:
    house.root.drain("cut")


def drain_then_stop(house: House) -> None:
    house.root.drain("cut")
    house.root.stop("cut harder")


def check_order(stage: Stage, names: str = "abc") -> None:
    """As for every house; and whoever was ended from above, was ended in reverse order."""
    check_house(stage)
    last: dict[str, Any] = {}
    for entry in stage.log.of("actor.ended"):
        last[entry["actor"]] = entry
    ended = sorted(
        (entry.number, name) for name, entry in last.items() if entry["how"] != "crashed"
    )
    order = [name for _, name in ended if name in names]
    assert order == sorted(order, reverse=True), order


async def crashes(stage: Stage, strategy: Strategy, cut: Callable[[House], None]) -> None:
    """Two of three siblings crash, the second while the first one's restart may be under way."""
    house = House(stage)
    house.build([house.clerk(name) for name in "abc"], strategy)
    stage.on_stop(lambda: cut(house))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.run)
        await house.ready.wait()
        stage.arm()
        for name, message in (("b", "crash one"), ("a", "slow two"), ("c", "crash three")):
            nursery.start_soon(house.ledger.ask, house.ref(name), message)
        house.ledger.tell(house.ref("b"), "quick four")
        await trio.sleep(10)
        await house.close()


@pytest.mark.slow
@pytest.mark.parametrize("strategy", list(Strategy))
def test_crashes_and_restarts_cut_at_every_step(strategy: Strategy) -> None:
    sweep(partial(crashes, strategy=strategy, cut=stop), check_order)


@pytest.mark.slow
@pytest.mark.parametrize("cut", [drain, drain_then_stop])
def test_restarts_of_the_rest_cut_softly_at_every_step(cut: Callable[[House], None]) -> None:
    sweep(partial(crashes, strategy=Strategy.REST_FOR_ONE, cut=cut), check_order)


async def a_bystander() -> None:
    """Takes a step in every round, so that there are moments between the steps of the others."""
    for _ in range(20):
        await trio.lowlevel.checkpoint()


async def a_start(stage: Stage, cut: Callable[[House], None]) -> None:
    """A tree of two levels comes up, with one child that succeeds only at its second try."""
    house = House(stage)
    lives: list[int] = []

    class Unlucky(Clerk):
        async def started(self) -> None:
            lives.append(1)
            await super().started()
            if len(lives) == 1:
                raise OSError("not yet")

    unlucky = house.clerk("b", make=lambda: Unlucky("b", house.ledger), backoff=Backoff())
    inner = Branch(name="inner", children=(unlucky, house.clerk("c")))
    house.build([house.clerk("a"), inner], Strategy.REST_FOR_ONE)
    stage.on_stop(lambda: cut(house))
    stage.arm()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.run)
        nursery.start_soon(house.ledger.ask, house.ref("b"), "quick early")
        nursery.start_soon(a_bystander)
        await house.ready.wait()
        await trio.sleep(5)
        await house.close()


@pytest.mark.slow
@pytest.mark.parametrize("cut", [stop, drain])
def test_a_start_cut_at_every_step(cut: Callable[[House], None]) -> None:
    sweep(partial(a_start, cut=cut), check_order)


async def an_escalation(stage: Stage) -> None:
    """A branch gives up twice, and with the second time so does the root."""
    house = House(stage)
    inner = Branch(name="inner", children=(house.clerk("b"), house.clerk("c")), limit=Limit(0, 60))
    house.build([house.clerk("a"), inner], limit=Limit(1, 60))
    stage.on_stop(lambda: house.root.stop("cut"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.run)
        await house.ready.wait()
        stage.arm()
        await house.ledger.ask(house.ref("b"), "crash one")
        await trio.sleep(1)
        house.ledger.tell(house.ref("a"), "slow two")
        await house.ledger.ask(house.ref("c"), "crash three")
        await trio.sleep(5)
        await house.close()


def check_causes(stage: Stage) -> None:
    """A root that gave up has both crashes in it; one that did not was cut before."""
    check_house(stage)
    ended: Ended | None = stage.world.ended
    if ended is None or ended.how is not How.CRASHED:
        assert stage.struck
        return
    assert isinstance(ended.error, Escalation)
    leaves = [
        str(leaf)
        for cause in ended.error.causes
        if isinstance(cause, Escalation)
        for leaf in cause.causes
    ]
    assert leaves == ["crash one", "crash three"]


@pytest.mark.slow
def test_an_escalation_over_two_levels_cut_at_every_step() -> None:
    sweep(an_escalation, check_causes)


async def a_closing(stage: Stage, cut: Callable[[House], None]) -> None:
    """Everybody is busy when the house closes; one will not be done in its time."""
    house = House(stage)
    inner = Branch(name="inner", children=(house.clerk("b", drain=5.0), house.clerk("c")))
    house.build([house.clerk("a", drain=5.0), inner])
    stage.on_stop(lambda: cut(house))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.run)
        await house.ready.wait()
        for name, message in (("a", "slow one"), ("b", "long two"), ("c", "slow three")):
            nursery.start_soon(house.ledger.ask, house.ref(name), message)
            house.ledger.tell(house.ref(name), f"quick for {name}")
        await trio.sleep(0.5)
        stage.arm()
        await house.close()


@pytest.mark.slow
@pytest.mark.parametrize("cut", [stop, drain_then_stop])
def test_a_closing_cut_at_every_step(cut: Callable[[House], None]) -> None:
    sweep(partial(a_closing, cut=cut), check_order)


# A crowd -----------------------------------------------------------------------------------------


class Hall(House):
    """A house with a crowd in it, and how each guest ended."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.door = Door("hall")
        self.ends: dict[str, list[How]] = {}
        self._guests: dict[str, Mailbox[str]] = {}
        crowd = Crowd(name="hall", door=self.door, limit=Limit(1, 60), backoff=Backoff())
        self.build([self.clerk("a"), crowd], Strategy.REST_FOR_ONE)

    def invite(self, name: str) -> Ref[str]:
        box = self._guests[name] = Mailbox(name)
        self.ends[name] = []
        self.door.adopt(box, lambda: Clerk(name, self.ledger), partial(self._left, name))
        return Ref(name, box)

    def _left(self, name: str, ended: Ended) -> None:
        self.ends[name].append(ended.how)
        self.system.retire(self._guests[name], ended.reason)

    def check(self) -> None:
        super().check()
        assert all(len(hows) == 1 for hows in self.ends.values()), self.ends
        assert self.door.inside is None


async def a_party(stage: Stage, cut: Callable[[House], None]) -> None:
    """Guests that work, crash and come back, crash too often, and leave."""
    hall = Hall(stage)
    stage.on_stop(lambda: cut(hall))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hall.run)
        await hall.ready.wait()
        guests = {name: hall.invite(name) for name in ("busy", "clumsy", "hopeless")}
        stage.arm()
        for name, message in (
            ("busy", "slow one"),
            ("clumsy", "crash two"),
            ("clumsy", "quick three"),
            ("hopeless", "crash four"),
            ("hopeless", "crash five"),
        ):
            nursery.start_soon(hall.ledger.ask, guests[name], message)
        await trio.sleep(5)
        await hall.close()


def cut_a_sibling(house: House) -> None:
    """A sibling before the crowd crashes, so the whole crowd is ended and made anew."""
    house.ledger.tell(house.ref("a"), "crash by the cut")


@pytest.mark.slow
@pytest.mark.parametrize("cut", [stop, drain, cut_a_sibling])
def test_a_crowd_cut_at_every_step(cut: Callable[[House], None]) -> None:
    sweep(partial(a_party, cut=cut))
