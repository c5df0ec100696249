"""How far a run may go, and how often it tries to save an answer that did not come."""

from __future__ import annotations

import msgspec

from hermes_actors.pure.guardrails import GuardrailLimits

FIRST_BOOST = 4096
MOST_OUTPUT = 32_768


class LoopLimits(msgspec.Struct, frozen=True):
    """`compact_at` is the size of a prompt, in tokens, from which on it is compacted; None: only
    when the provider refuses it as too long. With no `compactions` at all it is never done.
    `tokens_per_run` counts everything that the model reads and writes."""

    max_iterations: int = 90
    tokens_per_run: int | None = None
    compact_at: int | None = None
    compactions: int = 3
    calls_per_reply: int = 64
    useless_replies: int = 3
    denials: int = 3
    continuations: int = 3
    cut_calls: int = 4
    empty_replies: int = 3
    thoughts_only: int = 2
    wrap_up_tries: int = 2
    max_output_tokens: int | None = None
    guardrails: GuardrailLimits = GuardrailLimits()

    def boosted(self, times: int) -> int | None:
        """The room for an answer that was too long `times` times; doubled each time, to a bound."""
        if not times:
            return self.max_output_tokens
        base = self.max_output_tokens or FIRST_BOOST
        return max(base, min(base << times, MOST_OUTPUT))
