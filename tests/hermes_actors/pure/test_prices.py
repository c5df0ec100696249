"""Costs add up exactly, and a price that nobody knows is not made up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_actors.pure.prices import Price, Tally, cost_in_words, price_of
from hermes_actors.values import Usage

CLEVER = Price(input=3_000_000, output=15_000_000, cache_read=300_000, cache_write=3_750_000)
tokens = st.integers(0, 10**7)
usages = st.builds(Usage, tokens, tokens, tokens, tokens, tokens)


def test_a_call_costs_its_tokens_times_their_price() -> None:
    tally = Tally().plus(Usage(input=1000, output=100), CLEVER)
    assert (tally.micro_dollars, tally.tokens, tally.calls) == (3000 + 1500, 1100, 1)


def test_cached_tokens_are_part_of_the_input_and_have_their_own_price() -> None:
    usage = Usage(input=1000, cache_read=600, cache_write=300)
    assert Tally().plus(usage, CLEVER).micro_dollars == 300 + 180 + 1125
    assert Tally().plus(usage, Price(3_000_000, 0)).micro_dollars == 3000


def test_counts_that_make_no_sense_cost_no_negative_money() -> None:
    assert Price(10, 10, 0, 0).of(Usage(input=1, cache_read=5)) == 0


def test_small_costs_are_not_lost_and_the_sum_is_rounded_up_once() -> None:
    cheap, tally = Price(1, 1), Tally()
    for _ in range(1000):
        tally = tally.plus(Usage(input=1), cheap)
    assert tally.micro_dollars == 1
    assert tally.fine_cost == 1000


@given(st.lists(usages, max_size=8), st.integers(0, 8))
def test_sums_of_sums_are_sums(calls: list[Usage], cut: int) -> None:
    def total(some: list[Usage]) -> Tally:
        tally = Tally()
        for usage in some:
            tally = tally.plus(usage, CLEVER)
        return tally

    assert total(calls[:cut]) + total(calls[cut:]) == total(calls)


def test_a_dated_name_has_the_price_of_its_model_and_a_longer_name_does_not() -> None:
    prices = {"gpt-9": Price(1, 1), "gpt-9-mini": Price(2, 2)}
    assert price_of(prices, "gpt-9") == Price(1, 1)
    assert price_of(prices, "gpt-9-2031-01-01") == Price(1, 1)
    assert price_of(prices, "gpt-9-mini-2031") == Price(2, 2)
    assert price_of(prices, "gpt-90") is None
    assert price_of(prices, "") is None


def test_what_the_provider_says_about_its_cost_counts_before_any_price() -> None:
    tally = Tally().plus(Usage(input=10, cost=0.25), CLEVER).plus(Usage(input=10, cost=0.5), None)
    assert (tally.micro_dollars, tally.unpriced_calls) == (750_000, 0)
    assert tally.plus(Usage(input=1), None).usage == Usage(input=21, cost=0.75)
    assert Tally().plus(Usage(input=1), None).usage.cost is None


def test_a_missing_price_is_said() -> None:
    priced = Tally().plus(Usage(input=1_000_000), CLEVER)
    assert cost_in_words(Tally()) == "$0"
    assert cost_in_words(priced) == "$3.0000"
    assert cost_in_words(priced.plus(Usage(), None)) == "at least $3.0000"
    assert cost_in_words(Tally().plus(Usage(input=5), None)) == "no price known"
