"""Scenarios for the sweep: a small turn that is right, and the same turn with one flaw each."""

from __future__ import annotations

import itertools
import math
import os

import trio

from hermes_actors.journal import Journal
from hermes_actors.testing import FakePlatform, Stage
from hermes_actors.testing.sweep import Scenario as Scenario
from hermes_actors.values import Outbound, Source


class Turn:
    """Takes a message, thinks, answers, and clean-up follows on every way out."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.answered = False

    async def play(self, stage: Stage) -> None:
        stage.on_stop(lambda: self.scope.cancel("stopped"))
        stage.arm()
        stage.journal.note("inbound.accepted", key="k")
        stage.journal.note("run.started", run="r", session="s", agent="main")
        try:
            with self.scope:
                await self.work(stage.journal)
                self.answered = True
        finally:
            await self.clean_up(stage.journal)  # noqa: ASYNC102  shielded in there, or planted

    async def work(self, journal: Journal) -> None:
        async with trio.open_nursery() as nursery:
            for name in ("a", "b"):
                nursery.start_soon(self.child, journal, name)

    async def child(self, journal: Journal, name: str) -> None:
        journal.note("child.started", run="r", child=name)
        try:
            await trio.sleep(1)
        finally:
            journal.note("child.ended", run="r", child=name)

    async def clean_up(self, journal: Journal) -> None:
        with trio.move_on_after(2, shield=True):
            await trio.sleep(0.1)
            self.close(journal)

    def close(self, journal: Journal) -> None:
        state, reason, hook = (
            ("completed", "ok", "agent_loop_completed")
            if self.answered
            else ("stopped", "user_stop", "agent_loop_stopped")
        )
        journal.note("run.ended", run="r", state=state, reason=reason)
        journal.note("hook.fired", run="r", hook=hook)
        journal.note("inbound.ended", key="k", state="answered" if self.answered else "stopped")


async def good(stage: Stage) -> None:
    await Turn().play(stage)


class NoShield(Turn):
    async def clean_up(self, journal: Journal) -> None:
        await trio.sleep(0.1)  # planted: nothing protects this wait
        self.close(journal)


async def no_shield(stage: Stage) -> None:
    await NoShield().play(stage)


class NoDeadline(Turn):
    async def clean_up(self, journal: Journal) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(0 if self.answered else math.inf)  # planted: a shield without an end
            self.close(journal)


async def no_deadline(stage: Stage) -> None:
    await NoDeadline().play(stage)


class LostReply(Turn):
    def close(self, journal: Journal) -> None:
        if self.answered:  # planted: whoever was stopped is told nothing
            super().close(journal)


async def lost_reply(stage: Stage) -> None:
    await LostReply().play(stage)


class Swallower(Turn):
    async def work(self, journal: Journal) -> None:  # noqa: ASYNC910
        try:
            await super().work(journal)
        except* trio.Cancelled:  # noqa: ASYNC103
            pass  # planted: goes on as if nothing had happened


async def swallower(stage: Stage) -> None:
    stage.world = turn = Swallower()
    await turn.play(stage)


class Tireless(Turn):
    async def work(self, journal: Journal) -> None:  # noqa: ASYNC910
        done = False
        while not done:
            try:
                await super().work(journal)
                done = True
            except* trio.Cancelled:  # noqa: ASYNC103
                pass  # planted: tries again for ever


async def tireless(stage: Stage) -> None:
    await Tireless().play(stage)


async def immortal(stage: Stage) -> None:
    stage.on_stop(stage.strike.outer.cancel)
    stage.arm()
    while True:  # noqa: ASYNC913
        try:
            await trio.sleep(1)
            return
        except BaseException:  # noqa: ASYNC103, ASYNC104, BLE001  planted: no exception ends it
            pass


async def deaf(stage: Stage) -> None:
    stage.on_stop(lambda: None)
    stage.arm()
    await trio.sleep(1)
    if stage.struck:
        # planted: a wait that says no to every cancellation
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.FAILED)


async def restless(stage: Stage) -> None:
    stage.on_stop(lambda: None)
    stage.arm()
    await trio.sleep(1)
    while stage.struck:  # noqa: ASYNC110  planted: after a cut it waits and waits
        await trio.sleep(60)


_plays = itertools.count()


async def fickle(stage: Stage) -> None:  # noqa: ASYNC910
    stage.on_stop(lambda: None)
    stage.arm()
    for _ in range(next(_plays) % 2 + 1):  # planted: every second play is longer
        await trio.sleep(1)


async def unarmed(stage: Stage) -> None:
    await trio.sleep(1)


async def armed_too_late(stage: Stage) -> None:
    await trio.sleep(1)
    stage.arm()


async def never_said_how(stage: Stage) -> None:
    stage.arm()
    await trio.sleep(1)


def _broken_stop() -> None:
    raise ValueError("no such session")


async def broken_stop(stage: Stage) -> None:
    stage.on_stop(_broken_stop)
    stage.arm()
    await trio.sleep(1)


async def crashing(stage: Stage) -> None:
    stage.on_stop(lambda: None)
    stage.arm()
    await trio.sleep(1)
    if stage.struck:
        raise LookupError("lost the thread")


async def leaking_task(stage: Stage) -> None:
    await good(stage)
    if stage.struck:
        trio.lowlevel.spawn_system_task(trio.sleep_forever, name="forgotten pump")


class LeakingFile:
    """Opens a file and forgets it when it is cut; `verify` closes it for the next run."""

    async def __call__(self, stage: Stage) -> None:
        stage.on_stop(lambda: None)
        stage.arm()
        stage.world = os.open(os.devnull, os.O_RDONLY)
        await trio.sleep(1)
        if not stage.struck:
            os.close(stage.world)

    def verify(self, stage: Stage) -> None:
        if stage.struck:
            os.close(stage.world)


class Critic:
    """Finds fault with everything."""

    async def __call__(self, stage: Stage) -> None:
        await good(stage)

    def verify(self, stage: Stage) -> None:
        raise ValueError("not even undisturbed")


class AsksADouble:
    """Waits inside a double, and does not want to be cut there."""

    async def __call__(self, stage: Stage) -> None:
        stage.arm()
        await FakePlatform(delay=1).send(Outbound(Source("fake", "1"), "hello"))

    def verify(self, stage: Stage) -> None:
        assert not stage.struck


async def race(stage: Stage) -> None:
    """Ten tasks that are ready at the same moment: their order is Trio's to choose."""
    stage.on_stop(lambda: None)
    stage.arm()

    async def runner(number: int) -> None:
        for lap in range(3):
            await trio.sleep(1)
            stage.journal.note("lap", runner=number, lap=lap)

    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(runner, number)
