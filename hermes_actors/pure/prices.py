"""What a run costs: tokens in, micro-dollars out.

Prices are whole micro-dollars per million tokens (three dollars per million are 3 000 000). Sums
are kept in millionths of a micro-dollar and rounded up once at the end, so nothing is lost.
A call of a model without a price is counted, not guessed: then the sum is a lower bound.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from hermes_actors.values import Usage

_MILLION = 1_000_000


class Price(msgspec.Struct, frozen=True):
    """Micro-dollars per million tokens. A cache price that is not given is that of input."""

    input: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None

    def of(self, usage: Usage) -> int:
        """The price of one call, in millionths of a micro-dollar."""
        fresh = max(0, usage.input - usage.cache_read - usage.cache_write)
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        return (
            fresh * self.input
            + usage.cache_read * read
            + usage.cache_write * write
            + usage.output * self.output
        )


Prices = Mapping[str, Price]


def price_of(prices: Prices, model: str) -> Price | None:
    """The price of a model by its name, or by the longest known beginning of it.

    A beginning counts only up to a `-`, `@` or `:`, so "gpt-9" has the price of "gpt-9-2031-01-01"
    and says nothing about "gpt-90".
    """
    if model in prices:
        return prices[model]
    begun = [name for name in prices if model.startswith(name) and model[len(name)] in "-@:"]
    return prices[max(begun, key=len)] if begun else None


class Tally(msgspec.Struct, frozen=True):
    """The sum of some calls; add calls with `plus`, and sums with `+`."""

    usage: Usage = Usage()
    calls: int = 0
    unpriced_calls: int = 0
    fine_cost: int = 0

    def plus(self, usage: Usage, price: Price | None) -> Tally:
        """This and one more call; what the provider says about its cost counts before any price."""
        if usage.cost is not None:
            return self + Tally(usage, 1, 0, round(usage.cost * _MILLION * _MILLION))
        cost = 0 if price is None else price.of(usage)
        return self + Tally(usage, 1, int(price is None), cost)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            added(self.usage, other.usage),
            self.calls + other.calls,
            self.unpriced_calls + other.unpriced_calls,
            self.fine_cost + other.fine_cost,
        )

    @property
    def tokens(self) -> int:
        """Everything that was read or written, cached or not."""
        return self.usage.input + self.usage.output

    @property
    def micro_dollars(self) -> int:
        """The cost, rounded up."""
        return -(-self.fine_cost // _MILLION)


def added(one: Usage, other: Usage) -> Usage:
    """The tokens of two calls together."""
    return Usage(
        one.input + other.input,
        one.output + other.output,
        one.cache_read + other.cache_read,
        one.cache_write + other.cache_write,
        one.reasoning + other.reasoning,
        _either(one.cost, other.cost),
    )


def _either(one: float | None, other: float | None) -> float | None:
    return other if one is None else one + (other or 0)


def cost_in_words(tally: Tally) -> str:
    """The cost as a person reads it, with a word of caution where a price was missing."""
    if tally.calls == tally.unpriced_calls:
        return "no price known" if tally.calls else "$0"
    dollars = f"${tally.micro_dollars / _MILLION:.4f}"
    return f"at least {dollars}" if tally.unpriced_calls else dollars
