"""Durations, ids and paths are read as people write them, and refused in words."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_actors.config.values import Span, identity, kind_of, location, seconds, spell

ENDLESS = Span(endless=True)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (30, 30.0),
        (0.5, 0.5),
        ("500ms", 0.5),
        ("300ms", 0.3),
        ("30s", 30.0),
        ("30 s", 30.0),
        (" 30s ", 30.0),
        ("1.5m", 90.0),
        ("15m", 900.0),
        ("2h", 7200.0),
        ("1d", 86_400.0),
        ("366d", 31_622_400.0),
        (0.0014, 0.0014),
    ],
)
def test_a_duration_is_a_number_of_seconds_or_a_number_with_a_unit(
    written: object, read: float
) -> None:
    assert seconds(written) == read


@pytest.mark.parametrize(
    "written", ["", "30", "s", "30 sec", "1h30m", "-1s", "1e3s", "٣s", "30S", "0x1s", "1_0s", "inf"]
)
def test_a_text_that_is_no_duration_is_refused_with_an_example(written: str) -> None:
    with pytest.raises(ValueError, match="one of ms, s, m, h, d, such as '30s'"):
        seconds(written)


@pytest.mark.parametrize(
    ("written", "got"),
    [(True, "true or false"), ([], "a list"), ({}, "a table"), (None, "a date or time")],
)
def test_a_thing_that_is_no_duration_is_named(written: object, got: str) -> None:
    with pytest.raises(ValueError, match=f"expected a duration such as 30 or '30s', got {got}"):
        seconds(written)


@pytest.mark.parametrize("written", [0, -1, "0s", "0.1ms", "367d", 1e9, 10**30])
def test_a_duration_outside_its_bounds_is_told_the_bounds(written: object) -> None:
    with pytest.raises(ValueError, match="must be from 1ms to 366d"):
        seconds(written)


@pytest.mark.parametrize("written", ["never", math.inf, -math.inf, math.nan, 10**400])
def test_only_a_wait_that_may_be_endless_takes_never(written: object) -> None:
    with pytest.raises(ValueError, match="this wait must have an end"):
        seconds(written)


@pytest.mark.parametrize("written", ["never", math.inf, 10**400])
def test_never_is_infinite_and_so_fits_any_deadline(written: object) -> None:
    assert seconds(written, ENDLESS) == math.inf


@pytest.mark.parametrize("written", [math.nan, -math.inf])
def test_even_an_endless_wait_is_a_number(written: float) -> None:
    with pytest.raises(ValueError, match="this wait must have an end"):
        seconds(written, ENDLESS)


@given(st.floats(min_value=0.001, max_value=366 * 86_400.0) | st.just("never"))
def test_what_was_read_is_spelled_so_that_it_reads_the_same(written: float | str) -> None:
    read = seconds(written, ENDLESS)
    assert seconds(spell(read), ENDLESS) == read


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (0.0, "0s"),
        (0.3, "300ms"),
        (0.0005, "0.0005s"),
        (1.0, "1s"),
        (1.5, "1.5s"),
        (90.0, "90s"),
        (120.0, "2m"),
        (5400.0, "90m"),
        (86_400.0, "1d"),
        (math.inf, "never"),
    ],
)
def test_durations_are_spelled_with_the_largest_unit_that_fits(value: float, spelled: str) -> None:
    assert spell(value) == spelled


@pytest.mark.parametrize(
    ("written", "read"),
    [("C0123", "C0123"), (-1001234, "-1001234"), (7, "7"), ("@a:b.c", "@a:b.c")],
)
def test_an_id_may_be_written_as_the_number_it_looks_like(written: object, read: str) -> None:
    assert identity(written) == read


@pytest.mark.parametrize("written", ["", "a\nb", "x" * 257, True, 1.5, [], "\u202e"])
def test_an_id_that_nobody_could_have_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match="expected an id: 1 to 256 printable characters"):
        identity(written)


def test_a_path_starts_at_the_users_folder_where_it_says_so() -> None:
    assert location("~/x") == Path.home() / "x"
    assert location("x/y") == Path("x/y")


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("", "expected a path as text, got empty text"),
        (3, "expected a path as text, got a whole number"),
        ("a\0b", "no path holds a NUL character"),
    ],
)
def test_a_path_has_to_be_text_that_a_disk_can_hold(written: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        location(written)


def test_the_folder_of_an_unknown_user_is_said_to_be_unknown() -> None:
    with pytest.raises(ValueError, match="the user after '~' is not known"):
        location("~nobody-has-this-name/x")


def test_every_kind_of_toml_value_has_a_name_that_people_use() -> None:
    values: list[object] = [True, "a", "", 1, 1.5, {}, []]
    assert [kind_of(each) for each in values] == [
        "true or false",
        "text",
        "empty text",
        "a whole number",
        "a number",
        "a table",
        "a list",
    ]
