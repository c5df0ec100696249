from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from hermes_actors.runtime.crash import causes, in_words, separate, simplest


async def cancelled() -> trio.Cancelled:
    """A real one; Trio alone can make them."""
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as error:
            found = error
            raise
    return found


def test_a_crash_with_one_cause_is_that_cause() -> None:
    cause = ValueError("x")
    assert simplest(ExceptionGroup("outer", [ExceptionGroup("inner", [cause])])) is cause
    assert separate(ExceptionGroup("outer", [cause])) == (cause, None)


def test_a_crash_with_two_causes_keeps_both() -> None:
    group = ExceptionGroup("two", [ValueError("x"), ExceptionGroup("in", [KeyError("y")])])
    crash, foreign = separate(group)
    assert (crash, foreign) == (group, None)
    assert list(map(repr, causes(group))) == ["ValueError('x')", "KeyError('y')"]


async def test_a_cancellation_is_never_ours(autojump_clock: MockClock) -> None:
    error = await cancelled()
    assert separate(error) == (None, error)


async def test_a_crash_is_told_from_the_cancellation_that_came_with_it(
    autojump_clock: MockClock,
) -> None:
    error, cause = await cancelled(), ValueError("x")
    crash, foreign = separate(BaseExceptionGroup("both", [error, cause]))
    assert crash is cause
    assert isinstance(foreign, BaseExceptionGroup)
    assert causes(foreign) == [error]


@pytest.mark.parametrize("unplugged", [KeyboardInterrupt(), SystemExit(1)])
def test_what_ends_the_process_goes_on_with_all_that_came_with_it(
    unplugged: BaseException,
) -> None:
    group = BaseExceptionGroup("both", [unplugged, ValueError("x")])
    assert separate(group) == (None, group)
    assert separate(unplugged) == (None, unplugged)


def test_an_error_is_put_in_words_that_are_short_and_never_raise() -> None:
    class Unspeakable(Exception):
        def __repr__(self) -> str:
            raise RuntimeError

    assert in_words(ValueError("x")) == "ValueError('x')"
    assert in_words(Unspeakable()) == "<Unspeakable that cannot be shown>"
    assert len(in_words(ValueError("x" * 10_000_000))) < 600
