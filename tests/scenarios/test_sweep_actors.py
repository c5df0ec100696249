"""An actor is cut at every step of everything that it can be asked to do.

Each scenario is played some hundreds of times. After every one of them: each question was
answered, refused or withdrawn, exactly once; each accepted message came to exactly one end; no
task is left; every life that began has ended and cleaned up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import trio

from hermes_actors.testing.sweep import Stage
from tests.scenarios.house import House, sweep
from tests.scenarios.ledger import Clerk


def stop(house: House) -> None:
    house.ref("clerk").stop("cut")


def drain(house: House) -> None:
    house.ref("clerk").drain("cut")


def interrupt(house: House) -> None:
    house.ref("clerk").interrupt("cut")


def interrupt_all(house: House) -> None:
    house.ref("clerk").interrupt("cut", drop_queued=True)


def stop_and_start_anew(house: House) -> None:
    """Two orders in one step, as when a user says stop and then something else."""
    house.ref("clerk").interrupt("cut", drop_queued=True)
    house.ledger.tell(house.ref("clerk"), "quick after the cut")


CUTS = [stop, drain, interrupt, interrupt_all, stop_and_start_anew]


async def a_queue(stage: Stage, cut: Callable[[House], None]) -> None:
    """Work waits in the lane and in front of it, told and asked, short and long."""
    house = House(stage)
    house.build([house.clerk("clerk", capacity=2)])
    stage.on_stop(lambda: cut(house))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.run)
        await house.ready.wait()
        stage.arm()
        ref, ledger = house.ref("clerk"), house.ledger
        for message in ("slow one", "quick two", "no three"):
            ledger.tell(ref, message)
        for message in ("quick four", "slow five", "no six"):
            nursery.start_soon(ledger.ask, ref, message)
        nursery.start_soon(ledger.ask_for_a_while, ref, "long seven", 9.0)
        await trio.sleep(4)
        ref.signal("anything")
        await trio.sleep(20)
        await house.close()


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS)
def test_a_queue_of_work_cut_at_every_step(cut: Callable[[House], None]) -> None:
    sweep(partial(a_queue, cut=cut))


async def promises(stage: Stage, cut: Callable[[House], None]) -> None:
    """Answers are given later, by children, while other work goes on."""
    house = House(stage)
    house.build([house.clerk("clerk")])
    stage.on_stop(lambda: cut(house))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.run)
        await house.ready.wait()
        stage.arm()
        for message in ("child one", "child two", "crash three", "child four"):
            nursery.start_soon(house.ledger.ask, house.ref("clerk"), message)
        await trio.sleep(10)
        await house.close()


@pytest.mark.slow
@pytest.mark.parametrize("cut", [stop, interrupt_all])
def test_answers_that_are_given_later_cut_at_every_step(cut: Callable[[House], None]) -> None:
    sweep(partial(promises, cut=cut))


class Batcher(Clerk):
    """Takes all that waits in hand at once and settles it together, as the store does."""

    async def work(self, kind: str, message: str) -> object:
        mine, rest = self.reply_later(), self.take_queued(9)
        for text, _ in rest:
            self.ledger.fates[text].append("began")
        try:
            await trio.sleep(1)
        except trio.Cancelled:
            for text, _ in rest:
                self.ledger.fates[text].append("cut")
            raise
        for text, reply in rest:
            self.ledger.fates[text].append("done")
            if reply is not None:
                reply.answer(text)
        if mine is not None:
            mine.answer(message)
        return None


async def batches(stage: Stage, cut: Callable[[House], None]) -> None:
    house = House(stage)
    clerk = house.clerk("clerk", make=lambda: Batcher("clerk", house.ledger), capacity=3)
    house.build([clerk])
    stage.on_stop(lambda: cut(house))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.run)
        await house.ready.wait()
        stage.arm()
        for number in range(4):
            nursery.start_soon(house.ledger.ask, clerk.ref, f"asked {number}")
        nursery.start_soon(house.ledger.ask_for_a_while, clerk.ref, "asked and left", 0.5)
        house.ledger.tell(clerk.ref, "told")
        await trio.sleep(10)
        await house.close()


@pytest.mark.slow
@pytest.mark.parametrize("cut", [stop, interrupt, drain])
def test_batches_cut_at_every_step(cut: Callable[[House], None]) -> None:
    sweep(partial(batches, cut=cut))


class Chain(Clerk):
    """Asks another actor before it answers, so that a cut must travel."""

    def __init__(self, house: House) -> None:
        super().__init__("front", house.ledger)
        self._house = house

    async def work(self, kind: str, message: str) -> object:
        back = self._house.ref("clerk")
        answer = await self.ledger.ask(back, f"slow behind {message}")
        if isinstance(answer, Exception):
            raise answer
        return answer


async def a_chain(stage: Stage) -> None:
    """A question that leads to a question; the asker leaves, is cut, or is served."""
    house = House(stage)
    front = house.clerk("front", make=lambda: Chain(house))
    house.build([house.clerk("clerk"), front])
    stage.on_stop(lambda: house.ref("front").interrupt("cut"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(house.run)
        await house.ready.wait()
        stage.arm()
        nursery.start_soon(house.ledger.ask, front.ref, "quick one")
        nursery.start_soon(house.ledger.ask_for_a_while, front.ref, "quick two", 1.5)
        await trio.sleep(10)
        await house.close()


@pytest.mark.slow
def test_a_question_behind_a_question_cut_at_every_step() -> None:
    sweep(a_chain)
