from __future__ import annotations

import pytest

from benchmarks.result import Result, Target, Verdict, at_least, at_most
from benchmarks.rounds import Size, in_turns, typical
from benchmarks.table import head, line, number


def result(value: float, target: Target | None) -> Result:
    return Result(
        name="of something", value=value, unit="ms", beside="something else", target=target
    )


@pytest.mark.parametrize(
    ("value", "target", "verdict"),
    [
        (100, at_most(100), Verdict.PASS),
        (101, at_most(100), Verdict.MISS),
        (60, at_least(60), Verdict.PASS),
        (59, at_least(60), Verdict.MISS),
        (1, None, Verdict.NONE),
    ],
)
def test_the_bound_itself_is_met(value: float, target: Target | None, verdict: Verdict) -> None:
    assert result(value, target).verdict is verdict


def test_a_line_says_the_verdict_the_number_the_target_and_what_it_was_compared_with() -> None:
    words = line("speed", result(123.4, at_most(100))).split()
    assert " ".join(words) == "miss speed: of something 123 ms ≤ 100 something else"
    assert head().split() == ["what", "measured", "target", "compared", "with"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(12345.6, "12,346"), (0, "0"), (8, "8"), (7.294, "7.29"), (0.01234, "0.0123")],
)
def test_numbers_have_three_digits_that_matter(value: float, text: str) -> None:
    assert number(value) == text


def test_two_rates_are_taken_in_turns_and_the_ratio_is_that_of_neighbours() -> None:
    order = list[str]()
    ours, theirs = iter([10.0, 4.0, 30.0]), iter([5.0, 1.0, 10.0])

    def measure_ours() -> float:
        order.append("ours")
        return next(ours)

    def measure_theirs() -> float:
        order.append("theirs")
        return next(theirs)

    pair = in_turns(measure_ours, measure_theirs, 3)
    assert order == ["theirs", "ours", "ours", "theirs", "theirs", "ours"]
    assert (pair.ours, pair.theirs, pair.ratio) == (10.0, 5.0, 3.0)


def test_one_bad_round_decides_nothing() -> None:
    rounds = iter([1.0, 99.0, 1.1])
    assert typical(lambda: next(rounds), 3) == 1.1


def test_a_size_scales_counts_but_never_to_nothing() -> None:
    assert [Size().of(1000), Size(share=0.5).of(1000), Size(share=0.001).of(1000)] == [
        1000,
        500,
        10,
    ]
