"""The few things that Trio does not offer in public, all in one place.

All of them are checked when a run is seeded, so that a new Trio says what is missing instead of
failing oddly, or of finding nothing.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import outcome
import trio
import trio._core._run as scheduler
from trio.testing import MockClock

_DETERMINISTIC = "_ALLOW_DETERMINISTIC_SCHEDULING"
_OF_A_TASK = ("_next_send", "_cancel_status")
_OF_A_CANCEL_STATUS = ("_scope", "parent")


class TrioChanged(Exception):
    """This version of Trio lacks something private that the sweep needs."""

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"Trio {trio.__version__} has no '{missing}'; runs cannot be repeated by seed. "
            "Use a version of Trio that hermes_actors.testing was made for."
        )


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let Trio, and the `random` module, take every choice from `seed`; restore both after."""
    check_trio()
    dice: random.Random = getattr(scheduler, "_r")  # noqa: B009  private, and checked above
    before = dice.getstate(), getattr(scheduler, _DETERMINISTIC), random.getstate()
    dice.seed(seed)
    random.seed(seed)
    setattr(scheduler, _DETERMINISTIC, True)
    try:
        yield
    finally:
        dice.setstate(before[0])
        setattr(scheduler, _DETERMINISTIC, before[1])
        random.setstate(before[2])


def check_trio(run_loop: Any = scheduler, clock: Any = MockClock) -> None:
    """Raise `TrioChanged` unless everything that this file uses is there."""
    parts = {
        "trio._core._run": (run_loop, ("_r", _DETERMINISTIC)),
        "trio.lowlevel.Task": (run_loop.Task, _OF_A_TASK),
        "trio._core._run.CancelStatus": (run_loop.CancelStatus, _OF_A_CANCEL_STATUS),
        "trio.testing.MockClock()": (clock(), ("_real_clock",)),
    }
    for where, (part, names) in parts.items():
        for name in names:
            if not hasattr(part, name):
                raise TrioChanged(f"{where}.{name}")


def is_being_cancelled(task: trio.lowlevel.Task) -> bool:
    """Whether the step that this task is about to take begins with `Cancelled`."""
    coming: Any = task._next_send
    return isinstance(getattr(coming, "error", coming), trio.Cancelled)


def throw_instead(task: trio.lowlevel.Task, error: BaseException) -> None:
    """If the coming step begins with `Cancelled`, let it begin with `error`."""
    if is_being_cancelled(task):
        task._next_send = outcome.Error(error)


def cut_loose(task: trio.lowlevel.Task, up_to: trio.CancelScope) -> None:
    """Cancel every scope that this task is in, shielded or not, up to the given one."""
    status: Any = task._cancel_status
    while status is not None:
        scope: trio.CancelScope = status._scope
        scope.shield = False
        scope.cancel("the scenario hangs")
        if scope is up_to:
            return
        status = status.parent


def abandon(clock: MockClock, why: BaseException) -> None:
    """End the run that uses this clock by force: for tasks that no exception can end."""

    def no_time_left() -> float:
        if trio.lowlevel.in_trio_task():
            return now
        raise why

    now = clock._real_clock()
    _keep_for_ever(trio.lowlevel.current_root_task())
    # The run loop asks the clock on every turn, and an error from it is an error of the loop.
    clock._real_clock = no_time_left


def _keep_for_ever(task: object) -> None:
    # Python ends a coroutine that it collects, and one that obeys no exception does not end: the
    # collector, or the exit of the process, would hang in it. So this one is never collected.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(task))
