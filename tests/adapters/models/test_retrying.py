"""Which step follows which failure."""

from __future__ import annotations

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.models.retrying import GiveUp, LeftAlone, Policy, Step, Switch, Wait
from hermes_actors.ports import ModelFailed, ModelTrouble

POLICY = Policy(tries=3, longest_wait=600.0)


def after(
    kind: ModelTrouble, tried: int = 1, *, has_next: bool = False, left: float = 1000.0
) -> Step:
    return POLICY.after(ModelFailed(kind, "x"), tried, has_next, left, lambda: 0.5)


@pytest.mark.parametrize(
    ("kind", "alone", "with_another"),
    [
        ("rate_limited", Wait(1.0), Switch()),
        ("overloaded", Wait(1.0), Wait(1.0)),
        ("unreachable", Wait(1.0), Wait(1.0)),
        ("timeout", Wait(1.0), Wait(1.0)),
        ("bad_reply", Wait(1.0), Wait(1.0)),
        ("unauthorized", GiveUp(), Switch()),
        ("billing", GiveUp(), Switch()),
        ("bad_request", GiveUp(), Switch()),
        ("content_filter", GiveUp(), Switch()),
        ("context_overflow", GiveUp(), GiveUp()),
    ],
)
def test_the_first_failure_of_each_kind(
    kind: ModelTrouble, alone: Step, with_another: Step
) -> None:
    assert after(kind) == alone
    assert after(kind, has_next=True) == with_another


def test_waits_double_and_end_with_the_tries() -> None:
    assert [after("overloaded", tried) for tried in (1, 2, 3)] == [Wait(1.0), Wait(2.0), GiveUp()]
    assert after("overloaded", 2, has_next=True) == Wait(2.0)
    assert after("overloaded", 3, has_next=True) == Switch()


def test_the_wish_of_the_provider_is_added_up_to_a_bound() -> None:
    def wished(seconds: float) -> Step:
        failure = ModelFailed("rate_limited", "x", seconds)
        return POLICY.after(failure, 1, False, math.inf, lambda: 0.5)

    assert wished(30) == Wait(31.0)
    assert wished(599) == Wait(600.0)
    assert wished(600) == GiveUp()


def test_nobody_waits_past_the_deadline_only_to_miss_it() -> None:
    assert after("overloaded", left=0.9) == GiveUp()
    assert after("overloaded", left=0.9, has_next=True) == Switch()


def test_who_is_left_alone_is_not_waited_for() -> None:
    alone = LeftAlone("overloaded", "x", 30.0)
    assert POLICY.after(alone, 1, False, math.inf, lambda: 0.5) == GiveUp()
    assert POLICY.after(alone, 1, True, math.inf, lambda: 0.5) == Switch()


@given(
    st.sampled_from(get_args(ModelTrouble)),
    st.integers(1, 10),
    st.booleans(),
    st.floats(0, 1e6),
    st.none() | st.floats(0, 1e6),
    st.floats(0, 1, exclude_max=True),
)
def test_never_more_tries_nor_longer_waits_than_allowed(
    kind: ModelTrouble, tried: int, has_next: bool, left: float, wish: float | None, die: float
) -> None:
    step = POLICY.after(ModelFailed(kind, "x", wish), tried, has_next, left, lambda: die)
    if isinstance(step, Wait):
        assert tried < POLICY.tries
        assert (wish or 0) <= step.seconds <= min(POLICY.longest_wait, left)
    if isinstance(step, Switch):
        assert has_next
