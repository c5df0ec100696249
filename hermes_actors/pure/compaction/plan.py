"""Which part of a history is summarised: not its beginning, not its end, and never half a pair.

    head      the first messages, if they end with words of the model; none after a first summary,
              because then the summary already speaks of them
    middle    what is summarised
    tail      the latest messages, up to a number of tokens, from the start of a step

A call and its results are one step and stay together, so both parts are valid by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_actors.pure.compaction.size import estimate, size
from hermes_actors.values import AssistantMessage, Message, ToolMessage, UserMessage

SUMMARY_OPEN = "[summary of the earlier conversation, for reference; not a new request]"
SUMMARY_CLOSE = "[end of summary]"


class CompactionLimits(msgspec.Struct, frozen=True):
    """At most `protect_first` messages stay at the beginning, at least `protect_last` at the end,
    and there as many more as `tail_tokens` hold."""

    protect_first: int = 3
    protect_last: int = 8
    tail_tokens: int = 12_800


class Plan(msgspec.Struct, frozen=True):
    """A history in three parts, and its size before anything is done."""

    head: tuple[Message, ...]
    middle: tuple[Message, ...]
    tail: tuple[Message, ...]
    tokens: int


def plan(history: Sequence[Message], limits: CompactionLimits | None = None) -> Plan | None:
    """How to compact a history; None: there is nothing that could be summarised."""
    limits = limits or CompactionLimits()
    head = _head_end(history, limits.protect_first)
    tail = _tail_start(history, limits)
    whole = tuple(history)
    middle = whole[head:tail]
    # One request alone would only be quoted again: nothing is won.
    if not middle or (len(middle) == 1 and isinstance(middle[0], UserMessage)):
        return None
    return Plan(whole[:head], middle, whole[tail:], estimate(whole))


def is_summary(message: Message) -> bool:
    """Was this message written by an earlier compaction?"""
    return isinstance(message, UserMessage) and message.text.startswith(SUMMARY_OPEN)


def _head_end(history: Sequence[Message], protect_first: int) -> int:
    if history and is_summary(history[0]):
        return 0
    for end in range(min(protect_first, len(history)), 0, -1):
        last = history[end - 1]
        if isinstance(last, AssistantMessage) and not last.tool_calls:
            return end
    return 0


def _tail_start(history: Sequence[Message], limits: CompactionLimits) -> int:
    start, room = len(history), limits.tail_tokens
    while start > 0:
        room -= size(history[start - 1])
        if room < 0 and len(history) - start >= limits.protect_last:
            break
        start -= 1
    while 0 < start < len(history) and isinstance(history[start], ToolMessage):
        start -= 1
    return start
