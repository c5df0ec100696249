"""Foreign code on a leash: heard in full when it behaves, let go when it ignores its end."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from hermes_actors.hooks.leash import MAY_SWALLOW, LetGo, Pace, leashed

from .doubles import Swallower


def always() -> bool:
    return True


def never() -> bool:
    return False


async def test_code_that_behaves_is_awaited_as_if_there_were_no_leash(
    autojump_clock: MockClock,
) -> None:
    async def work() -> str:
        await trio.sleep(1)
        with trio.move_on_after(1):
            await trio.sleep_forever()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 1)
            nursery.start_soon(trio.sleep, 1)
        return "done"

    assert await leashed(work(), always, Pace()) == "done"
    assert trio.current_time() == 3


async def test_an_error_comes_out_as_it_is() -> None:
    async def work() -> None:
        await trio.lowlevel.checkpoint()
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await leashed(work(), always, Pace())


async def test_awaiting_what_is_not_trios_is_an_error_inside_the_code_that_does_it() -> None:
    class Foreign:
        def __await__(self) -> Generator[object, None, None]:
            yield object()

    async def work() -> str:
        with contextlib.suppress(TypeError):
            await Foreign()
        return "survived"

    assert await leashed(work(), always, Pace()) == "survived"


async def test_clean_up_after_a_cancellation_is_carried_out_in_full(
    autojump_clock: MockClock,
) -> None:
    log = []

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.move_on_after(5, shield=True):
                await trio.sleep(3)
                log.append("clean")

    with trio.move_on_after(1) as scope:
        await leashed(work(), always, Pace())
    assert scope.cancelled_caught
    assert (log, trio.current_time()) == (["clean"], 4)


async def test_time_limits_of_its_own_count_only_once_it_must_end(
    autojump_clock: MockClock,
) -> None:
    async def polling() -> str:
        for _ in range(3 * MAY_SWALLOW):
            with trio.move_on_after(0.01):
                await trio.sleep_forever()
        return "polled"

    assert await leashed(polling(), never, Pace()) == "polled"
    with pytest.raises(LetGo):
        await leashed(polling(), always, Pace())


async def test_code_that_swallows_its_cancellation_is_let_go_and_closed() -> None:
    swallower = Swallower()
    with trio.CancelScope() as scope:
        scope.cancel()
        with pytest.raises(LetGo) as caught:
            await leashed(swallower(), always, Pace())
    assert caught.value.closed
    assert swallower.swallowed == MAY_SWALLOW


async def test_last_words_that_raise_do_not_keep_it_open() -> None:
    async def work() -> None:
        try:
            await Swallower()()
        finally:
            raise ValueError("last words")

    with trio.CancelScope() as scope:
        scope.cancel()
        with pytest.raises(LetGo) as caught:
            await leashed(work(), always, Pace())
    assert caught.value.closed


async def test_code_that_refuses_to_be_closed_is_said_to_be_open() -> None:
    stubborn = Swallower(BaseException)
    with trio.CancelScope() as scope:
        scope.cancel()
        with pytest.raises(LetGo) as caught:
            await leashed(stubborn(), always, Pace())
    assert not caught.value.closed
    stubborn.released = True
    with pytest.raises(StopIteration):
        caught.value.remains.send(None)


async def test_code_with_children_is_slowed_down_and_let_go_when_they_are_gone(
    autojump_clock: MockClock,
) -> None:
    log = []

    async def child() -> None:
        with contextlib.suppress(trio.Cancelled):
            await trio.sleep_forever()

    async def work() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)
            for _ in range(MAY_SWALLOW + 3):
                with contextlib.suppress(trio.Cancelled):
                    await trio.sleep_forever()
        log.append(trio.current_time())
        await Swallower()()

    with trio.CancelScope() as scope:
        scope.cancel()
        with pytest.raises(LetGo):
            await leashed(work(), always, Pace())
        log.append(trio.current_time())
    assert log == [3, 3]  # three pauses of a second for the last three, and then no more


async def test_the_pace_is_the_time_between_waits_and_not_that_of_the_waits(
    autojump_clock: MockClock,
) -> None:
    pace = Pace()

    async def work() -> None:
        autojump_clock.jump(2)
        await trio.sleep(10)
        autojump_clock.jump(1)

    await leashed(work(), never, pace)
    assert (pace.busy, trio.current_time()) == (3, 13)


async def test_time_is_kept_of_code_that_raises_too(autojump_clock: MockClock) -> None:
    pace = Pace()

    async def work() -> Any:
        autojump_clock.jump(2)
        raise LookupError

    with pytest.raises(LookupError):
        await leashed(work(), never, pace)
    assert pace.busy == 2
