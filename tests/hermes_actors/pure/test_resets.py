"""A conversation starts afresh when the policy says so, at local hours, and never by surprise."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from hermes_actors.pure.resets import NOTICES, Mode, ResetPolicy, last_boundary, reset_reason

BERLIN = ZoneInfo("Europe/Berlin")
HOUR, DAY = 3600, 86_400
NOON = 20_000 * DAY + 12 * HOUR


def berlin(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()


def berlin_offset(moment: float) -> float:
    offset = datetime.fromtimestamp(moment, BERLIN).utcoffset()
    assert offset is not None
    return offset / timedelta(seconds=1)


@pytest.mark.parametrize(
    ("mode", "quiet_hours", "reason"),
    [
        ("none", 10_000, None),
        ("idle", 23.99, None),
        ("idle", 24, "idle"),
        ("daily", 7.9, None),  # since 04:06
        ("daily", 8, None),  # the boundary itself belongs to the new day
        ("daily", 8.01, "daily"),
        ("both", 8.01, "daily"),
        ("both", 7, None),
        ("both", 30, "idle"),
    ],
)
def test_the_mode_says_which_silence_and_which_hour_count(
    mode: Mode, quiet_hours: float, reason: str | None
) -> None:
    policy = ResetPolicy(mode)
    assert reset_reason(policy, NOON - quiet_hours * HOUR, NOON, at_work=False) == reason


def test_a_conversation_that_still_works_is_never_reset() -> None:
    assert reset_reason(ResetPolicy("both"), 0, NOON, at_work=True) is None


def test_a_clock_that_went_back_resets_nothing() -> None:
    policy = ResetPolicy("both", idle_minutes=1)
    assert reset_reason(policy, NOON + DAY, NOON, at_work=False) is None
    assert reset_reason(policy, NOON, NOON, at_work=False) is None


def test_hours_are_local_also_across_the_date_line() -> None:
    policy = ResetPolicy("daily", at_hour=4)
    for offset in (-11 * HOUR, -3.5 * HOUR, 0, 5.75 * HOUR, 14 * HOUR):
        boundary = last_boundary(policy, NOON, offset)
        assert (boundary + offset) % DAY == 4 * HOUR
        assert 0 <= NOON - boundary < DAY


@pytest.mark.parametrize(
    ("now", "boundary"),
    [
        ("2026-03-29T12:00", "2026-03-29T04:00"),  # clocks went forward at 02:00
        ("2026-03-29T03:30", "2026-03-28T04:00"),
        ("2026-03-29T04:00", "2026-03-29T04:00"),
        ("2026-10-25T12:00", "2026-10-25T04:00"),  # clocks went back at 03:00
        ("2026-10-25T03:59", "2026-10-24T04:00"),
    ],
)
def test_the_hour_is_right_on_the_days_when_the_clocks_change(now: str, boundary: str) -> None:
    found = last_boundary(ResetPolicy("daily"), berlin(now), berlin_offset)
    assert found == berlin(boundary)


def test_every_moment_of_a_year_has_a_boundary_within_the_last_25_hours() -> None:
    start = berlin("2026-01-01T00:00")
    for hour in (0, 2, 4, 23):
        policy = ResetPolicy("daily", at_hour=hour)
        for step in range(0, 365 * 96, 7):
            now = start + step * 900
            assert 0 <= now - last_boundary(policy, now, berlin_offset) <= 25 * HOUR


def test_each_reset_can_be_told() -> None:
    assert all("/resume" in notice for notice in NOTICES.values())
