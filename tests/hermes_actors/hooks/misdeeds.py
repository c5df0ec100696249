"""Handlers that misbehave, in one way each."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from .doubles import Shielder, Swallower

Handler = Callable[..., Awaitable[Any]]


async def raising(**_: Any) -> None:
    raise ValueError("words of a user")


async def raising_a_group(**_: Any) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(raising)
        nursery.start_soon(trio.sleep_forever)


async def hanging(**_: Any) -> None:
    await trio.sleep_forever()


async def failing_when_cancelled(**_: Any) -> None:
    try:
        await trio.sleep_forever()
    finally:
        raise ValueError("clean-up failed")


async def returning_garbage(**_: Any) -> object:
    return 42


async def returning_although_cancelled(**_: Any) -> object:
    try:
        await trio.sleep_forever()
    except trio.Cancelled:  # noqa: ASYNC103  the misbehaviour under test
        return {"action": "allow"}  # noqa: ASYNC104


class Spinning:
    """Computes for three seconds without ever letting the event loop go."""

    def __init__(self, clock: MockClock) -> None:
        self._clock = clock

    async def __call__(self, **_: Any) -> object:
        self._clock.jump(3)
        return None


class SwallowingInItsOwnNursery:
    """Cannot be let go while it has children."""

    async def __call__(self, **_: Any) -> None:
        async with trio.open_nursery():
            for _attempt in range(150):
                with contextlib.suppress(trio.Cancelled):  # the misbehaviour under test
                    await trio.sleep_forever()


def cancel_a_nursery(levels_up: int) -> None:
    nursery = trio.lowlevel.current_task().parent_nursery
    for _ in range(levels_up):
        assert nursery is not None
        nursery = nursery.parent_task.parent_nursery
    assert nursery is not None
    nursery.cancel_scope.cancel()


async def cancelling_its_nursery(**_: Any) -> None:
    cancel_a_nursery(0)
    await trio.lowlevel.checkpoint()


FAULTS: dict[str, tuple[Callable[[MockClock], Handler], str, float]] = {
    "raise": (lambda _: raising, "raised ValueError", 0),
    "raise a group": (lambda _: raising_a_group, "raised ExceptionGroup", 0),
    "hang": (lambda _: hanging, "gave no answer within 2 s", 1.9),
    "fail in clean-up": (lambda _: failing_when_cancelled, "gave no answer within 2 s", 1.9),
    "answer too late": (lambda _: returning_although_cancelled, "gave no answer within 2 s", 1.9),
    "spin": (Spinning, "held the event loop for more than 2 s", 3),
    "swallow": (lambda _: Swallower(), "ignored its cancellation", 1.9),
    "swallow with children": (
        lambda _: SwallowingInItsOwnNursery(),
        "gave no answer within 2 s",
        2.0,
    ),
    "shield": (lambda _: Shielder(), "gave no answer within 2 s", 2.0),
}
every_fault = pytest.mark.parametrize(("make", "reason", "cost"), FAULTS.values(), ids=FAULTS)
