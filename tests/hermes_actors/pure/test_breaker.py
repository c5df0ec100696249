"""The breaker counts exactly, tries once, and ignores what began before it opened."""

from __future__ import annotations

from hermes_actors.pure.breaker import Breaker


def fail_times(breaker: Breaker, times: int, now: float = 0) -> list[bool]:
    opened = []
    for _ in range(times):
        era = breaker.admit(now)
        assert era is not None
        opened.append(breaker.fail(era, now))
    return opened


def test_the_fifth_failure_in_a_row_opens_it_and_the_fourth_does_not() -> None:
    breaker = Breaker(limit=5, cool_down=60)
    assert fail_times(breaker, 5) == [False, False, False, False, True]
    assert breaker.admit(0) is None


def test_a_success_starts_the_count_again() -> None:
    breaker = Breaker(limit=5, cool_down=60)
    fail_times(breaker, 4)
    era = breaker.admit(0)
    assert era is not None
    breaker.succeed(era)
    assert not any(fail_times(breaker, 4))
    assert breaker.closed


def test_after_the_cool_down_exactly_one_trial_is_admitted() -> None:
    breaker = Breaker(limit=1, cool_down=60)
    fail_times(breaker, 1)
    assert [breaker.admit(at) is not None for at in (59.9, 60, 60, 1000)] == [
        False,
        True,
        False,
        False,
    ]


def test_a_good_trial_closes_it_and_a_bad_one_opens_it_for_another_cool_down() -> None:
    breaker = Breaker(limit=5, cool_down=60)
    fail_times(breaker, 5)
    assert fail_times(breaker, 1, now=60) == [True]
    assert breaker.admit(119.9) is None
    era = breaker.admit(120)
    assert era is not None
    assert breaker.succeed(era)
    assert breaker.closed
    assert breaker.failures == 0


def test_a_withdrawn_trial_leaves_the_trial_to_the_next_call() -> None:
    breaker = Breaker(limit=1, cool_down=60)
    fail_times(breaker, 1)
    era = breaker.admit(60)
    assert era is not None
    breaker.withdraw(era)
    assert not breaker.closed
    assert breaker.admit(60) is not None


def test_stragglers_from_before_the_opening_change_nothing() -> None:
    breaker = Breaker(limit=1, cool_down=60)
    straggler = breaker.admit(0)
    assert straggler is not None
    fail_times(breaker, 1)
    assert not breaker.fail(straggler, 50)
    assert not breaker.succeed(straggler)
    assert breaker.admit(60) is not None  # the trial, on time
    breaker.withdraw(straggler)
    assert breaker.admit(60) is None  # and still the only one
