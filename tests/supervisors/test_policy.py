from __future__ import annotations

import pytest

from hermes_actors.errors import ConfigError
from hermes_actors.pure.backoff import Backoff
from hermes_actors.runtime import Ended, How
from supervisors.policy import (
    Limit,
    Restart,
    RestartBudget,
    Strategy,
    affected,
    hopeless,
    wants_restart,
)


@pytest.mark.parametrize("restarts", [0, 1, 3, 10])
def test_the_budget_is_exact_to_the_count(restarts: int) -> None:
    budget = RestartBudget(Limit(restarts, 60))
    assert [budget.spend(1.0, None) for _ in range(restarts + 1)] == [True] * restarts + [False]


def test_a_restart_is_forgotten_exactly_when_its_period_is_over() -> None:
    budget = RestartBudget(Limit(1, 60))
    assert budget.spend(0.0, None)
    assert not budget.spend(59.999, None)
    fresh = RestartBudget(Limit(1, 60))
    assert fresh.spend(0.0, None)
    assert fresh.spend(60.0, None)


def test_the_budget_keeps_the_causes_of_its_period() -> None:
    budget = RestartBudget(Limit(2, 60))
    old, first, second = ValueError("old"), ValueError("first"), ValueError("second")
    budget.spend(0.0, old)
    budget.spend(100.0, first)
    budget.spend(101.0, second)
    assert budget.causes() == [first, second]


@pytest.mark.parametrize(
    ("restart", "how", "expected"),
    [
        (Restart.PERMANENT, How.CRASHED, True),
        (Restart.PERMANENT, How.STOPPED, True),
        (Restart.TRANSIENT, How.CRASHED, True),
        (Restart.TRANSIENT, How.STOPPED, False),
        (Restart.TRANSIENT, How.DRAINED, False),
        (Restart.TEMPORARY, How.CRASHED, False),
    ],
)
def test_who_comes_back_after_what(restart: Restart, how: How, expected: bool) -> None:
    assert wants_restart(restart, Ended(how, "x")) is expected


@pytest.mark.parametrize(
    ("strategy", "names"),
    [
        (Strategy.ONE_FOR_ONE, ["b"]),
        (Strategy.REST_FOR_ONE, ["b", "c"]),
        (Strategy.ONE_FOR_ALL, ["a", "b", "c"]),
    ],
)
def test_who_is_restarted_together(strategy: Strategy, names: list[str]) -> None:
    assert affected(strategy, ["a", "b", "c"], "b") == names


def test_a_cause_that_no_restart_helps_is_found_inside_a_group() -> None:
    cause = ConfigError(["hermes.toml: x: wrong"])
    assert hopeless(ExceptionGroup("two", [ValueError(), cause])) is cause
    assert hopeless(ValueError()) is None
    assert hopeless(None) is None


def test_backoff_doubles_up_to_its_ceiling_with_full_jitter() -> None:
    backoff = Backoff(first=1, most=60)
    assert [backoff.ceiling(n) for n in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert backoff.delay(3, lambda: 0.0) == 0
    assert backoff.delay(3, lambda: 0.5) == 4
    assert backoff.ceiling(10_000) == 60
