"""Thinking with Anthropic's models: how it is asked for.

Newer models decide by themselves how much to think and take a degree of effort; older ones take a
budget. Each kind refuses the form of the other. Both sign their thoughts and want them back with
the results of the tools that they led to; that is `layout.py`.
"""

from __future__ import annotations

import re

import msgspec

from adapters.models.layout import kept
from adapters.models.options import Effort, Options
from hermes_actors.values import AssistantMessage, ModelRequest, UserMessage

WIRE = "anthropic"
_BUDGET: dict[Effort, int] = {"low": 2048, "medium": 8192, "high": 24_576}
_LEAST_BUDGET = 1024
_FIRST_ADAPTIVE = (4, 6)
# A number of one or two digits is a version; a longer one is a date.
_VERSION = re.compile(r"-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


class Thinking(msgspec.Struct, frozen=True, omit_defaults=True):
    type: str
    budget_tokens: int | None = None


class Output(msgspec.Struct, frozen=True):
    effort: Effort


def wanted(request: ModelRequest, options: Options, most: int) -> Thinking | None:
    """How to ask for the thinking that the owner wants; None when it has to be left out."""
    effort = options.reasoning_effort
    if effort in (None, "none"):
        return None
    if adaptive(request.model):
        return Thinking("adaptive")
    budget = min(_BUDGET[effort], most // 2)
    if budget < _LEAST_BUDGET or _thoughts_are_lost(request):
        return None
    return Thinking("enabled", budget)


def adaptive(model: str) -> bool:
    """True for models that choose the amount themselves.

    >>> [adaptive(f"claude-{name}") for name in ("opus-4-7", "sonnet-4-5-20250929", "opus-5")]
    [True, False, True]
    """
    if "claude" not in model:
        return False
    found = _VERSION.search(model)
    if found is None:
        return "mythos" in model or "fable" in model
    return (int(found[1]), int(found[2] or 0)) >= _FIRST_ADAPTIVE


def _thoughts_are_lost(request: ModelRequest) -> bool:
    """True when tools were called and the thoughts before that are not at hand: then a model
    with a budget must not think until the next question, or it refuses the whole conversation."""
    for message in reversed(request.messages):
        if isinstance(message, UserMessage):
            return False
        if isinstance(message, AssistantMessage) and message.tool_calls:
            return not kept(WIRE, request.model, message)
    return False
