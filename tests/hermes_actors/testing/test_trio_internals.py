from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
import trio._core._run as scheduler
from trio.testing import MockClock

from hermes_actors.testing.trio_internals import TrioChanged, check_trio, seeded


def without(part: Any, name: str) -> SimpleNamespace:
    """Something that has all names of `part` but one."""
    names = (each for each in dir(part) if each != name and not each.startswith("__"))
    return SimpleNamespace(**{each: getattr(part, each) for each in names})


def run_loop(**changed: Any) -> SimpleNamespace:
    """Trio's run loop as a new version might have it."""
    loop = {
        "_r": random.Random(),
        "_ALLOW_DETERMINISTIC_SCHEDULING": False,
        "Task": scheduler.Task,
        "CancelStatus": scheduler.CancelStatus,
    }
    return SimpleNamespace(**(loop | changed))


def test_this_trio_has_everything_that_is_needed() -> None:
    check_trio()
    check_trio(run_loop())


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        (without(run_loop(), "_r"), "trio._core._run._r"),
        (
            without(run_loop(), "_ALLOW_DETERMINISTIC_SCHEDULING"),
            "trio._core._run._ALLOW_DETERMINISTIC_SCHEDULING",
        ),
        (run_loop(Task=without(scheduler.Task, "_next_send")), "trio.lowlevel.Task._next_send"),
        (
            run_loop(Task=without(scheduler.Task, "_cancel_status")),
            "trio.lowlevel.Task._cancel_status",
        ),
        (
            run_loop(CancelStatus=without(scheduler.CancelStatus, "_scope")),
            "trio._core._run.CancelStatus._scope",
        ),
    ],
)
def test_a_trio_that_lacks_something_private_says_what(changed: Any, missing: str) -> None:
    with pytest.raises(TrioChanged, match=f"has no '{missing}'"):
        check_trio(changed)


def test_a_clock_that_cannot_be_stopped_is_named_too() -> None:
    with pytest.raises(TrioChanged, match=r"MockClock\(\)\._real_clock"):
        check_trio(run_loop(), clock=lambda: without(MockClock(), "_real_clock"))


def test_the_dice_are_as_before_when_a_seeded_run_is_over() -> None:
    dice: random.Random = vars(scheduler)["_r"]
    private = "_ALLOW_DETERMINISTIC_SCHEDULING"
    before = dice.getstate(), random.getstate(), vars(scheduler)[private]
    with seeded(7):
        first = dice.random(), random.random()
        assert vars(scheduler)[private] is True
    with seeded(7):
        assert (dice.random(), random.random()) == first
    with seeded(8):
        assert (dice.random(), random.random()) != first
    assert (dice.getstate(), random.getstate(), vars(scheduler)[private]) == before
