"""How the parrot is tested: once by hand, once at every moment of its life."""

from __future__ import annotations

from contextlib import suppress

import trio
from parrot import Parrot
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors import ActorGone, Journal
from hermes_actors.testing import (
    HANG,
    EventLog,
    FakePlatform,
    ScriptedModel,
    Stage,
    cancel_at_every_step,
    living,
)


async def test_it_answers_what_the_model_says(
    journal: Journal,
    event_log: EventLog,
    scripted_model: ScriptedModel,
    fake_platform: FakePlatform,
    autojump_clock: MockClock,
) -> None:
    scripted_model.script("Pretty bird.")
    parrot = Parrot(scripted_model, fake_platform, journal)
    async with living(parrot, "parrot", journal=journal) as alive:
        await alive.ref.ask(fake_platform.inbound("hello"))
    assert fake_platform.visible() == ["Pretty bird."]
    assert event_log.of("run.").kinds() == ["run.started", "run.ended"]


async def test_a_stop_is_immediate_and_said(
    journal: Journal,
    scripted_model: ScriptedModel,
    fake_platform: FakePlatform,
    autojump_clock: MockClock,
) -> None:
    scripted_model.script(["Pretty", HANG])
    parrot = Parrot(scripted_model, fake_platform, journal)
    async with living(parrot, "parrot", journal=journal) as alive:
        alive.ref.tell(fake_platform.inbound("hello"))
        await wait_all_tasks_blocked()
        assert alive.ref.interrupt("user_stop")
        await wait_all_tasks_blocked()
        assert fake_platform.visible() == ["Stopped."]
    assert trio.current_time() == 0


async def one_message(stage: Stage) -> None:
    stage.world = platform = FakePlatform(journal=stage.journal)
    model = ScriptedModel("Pretty bird.", journal=stage.journal)
    parrot = Parrot(model, platform, stage.journal)
    async with living(parrot, "parrot", journal=stage.journal) as alive:
        stage.on_stop(lambda: alive.ref.interrupt("user_stop"))
        stage.arm()
        with suppress(ActorGone):  # it was stopped, and the asker is told so
            await alive.ref.ask(platform.inbound("hello"))


def said_once(stage: Stage) -> None:
    """Cut before it began, it has nothing to say; cut later, it says exactly one thing."""
    begun = len(stage.log.of("run.started"))
    assert len(stage.world.visible()) == begun, stage.world.visible()


def test_it_answers_once_whenever_it_is_stopped() -> None:
    report = cancel_at_every_step(one_message, verify=said_once, seeds=range(3))
    assert report.ok, str(report)
    assert report.exhaustive
