"""The place where handlers run: what it lets finish, what it ends, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from hermes_actors.hooks.handlers import Handler
from hermes_actors.hooks.stage import Call, Failed, NotRun, Returned, Stage

from .misdeeds import hanging


def call_of(function: Callable[..., Any]) -> Call:
    return Call(Handler.of("agent_loop_stopped", function, "test"), {})


async def test_calls_in_flight_may_finish_after_the_end_but_not_for_longer_than_the_linger(
    autojump_clock: MockClock,
) -> None:
    stage, log = Stage(threads=1, linger=3), []

    async def short() -> None:
        await trio.sleep(2)
        log.append(("short", trio.current_time()))

    async def long() -> None:
        try:
            await trio.sleep(100)
        finally:
            log.append(("long", trio.current_time()))

    calls = [call_of(short), call_of(long)]

    async def patient() -> None:
        with trio.CancelScope(shield=True):
            await stage.perform(calls, patience=1000)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.run)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(patient)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert log == [("short", 2), ("long", 3)]
    assert [call.outcome(1000) for call in calls] == [
        Returned(None),
        NotRun("was cancelled from outside"),
    ]
    assert stage.left_behind() == ()


def test_a_thread_that_begins_after_its_call_was_given_up_does_not_touch_the_handler() -> None:
    log: list[str] = []
    call = call_of(lambda: log.append("called"))
    call.give_up()
    call._in_thread()  # what a thread does that was slow to start: there is no other way to be late
    assert log == []


@pytest.mark.parametrize("patience", [0.2, 2.0, 5.0])
async def test_however_short_the_time_three_quarters_of_it_are_for_work(
    patience: float, autojump_clock: MockClock
) -> None:
    stage, cancelled_at = Stage(threads=1, linger=5), []

    async def notes_its_end() -> None:
        try:
            await trio.sleep_forever()
        finally:
            cancelled_at.append(trio.current_time())

    call = call_of(notes_its_end)
    await stage.perform([call], patience)
    assert cancelled_at == [pytest.approx(patience - min(0.1, patience / 4))]
    assert call.outcome(patience) == Failed(f"gave no answer within {patience:g} s")


async def test_a_caller_who_leaves_gives_up_on_all_of_its_calls(autojump_clock: MockClock) -> None:
    stage = Stage(threads=1, linger=5)
    calls = [call_of(hanging), call_of(hanging)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.run)
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(1):
            await stage.perform(calls, patience=100)
        await trio.testing.wait_all_tasks_blocked()
        assert [call.still_there for call in calls] == [False, False]
        assert trio.current_time() == 1
        nursery.cancel_scope.cancel()
