"""Is a history fit for the next call of a model? If not: what is wrong, and where.

Asked before each call and after each commit. It reads every message once and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from hermes_actors.pure.transcript.dialects import Dialect
from hermes_actors.pure.transcript.rules import (
    calls_of,
    good_arguments,
    good_id,
    good_name,
    is_encodable,
    same_side,
    says_nothing,
    texts,
)
from hermes_actors.values import Message, ToolMessage, UserMessage

Fault = Literal[
    "not_user_first",
    "same_side_twice",
    "user_after_tool",
    "empty",
    "not_encodable",
    "unanswered_call",
    "orphan_result",
    "result_out_of_order",
    "bad_call_id",
    "repeated_call_id",
    "bad_tool_name",
    "bad_arguments",
]


class Problem(msgspec.Struct, frozen=True):
    """One fault of the message at `index`; `detail` names the call it is about, if it is."""

    index: int
    fault: Fault
    detail: str = ""


def validate(history: Sequence[Message], dialect: Dialect) -> tuple[Problem, ...]:
    """All that is wrong with a history; empty when nothing is."""
    return tuple(_problems(history, dialect))


def _problems(history: Sequence[Message], dialect: Dialect) -> Iterator[Problem]:
    if history and dialect.user_first and not isinstance(history[0], UserMessage):
        yield Problem(0, "not_user_first")
    seen: set[str] = set()
    owed: list[str] = []
    for index, message in enumerate(history):
        if isinstance(message, ToolMessage):
            yield from _result(index, message, owed)
        else:
            yield from (Problem(index - 1, "unanswered_call", call) for call in owed)
            owed = [call.id for call in calls_of(message)]
            yield from _calls(index, message, dialect, seen)
        if index:
            yield from _neighbours(index, history[index - 1], message, dialect)
        if says_nothing(message):
            yield Problem(index, "empty")
        if not all(map(is_encodable, texts(message))):
            yield Problem(index, "not_encodable")
    yield from (Problem(len(history) - 1, "unanswered_call", call) for call in owed)


def _result(index: int, message: ToolMessage, owed: list[str]) -> Iterator[Problem]:
    """A result settles the call it belongs to, and should be the next in line."""
    if message.call_id not in owed:
        yield Problem(index, "orphan_result", message.call_id)
        return
    if owed[0] != message.call_id:
        yield Problem(index, "result_out_of_order", message.call_id)
    owed.remove(message.call_id)


def _calls(index: int, message: Message, dialect: Dialect, seen: set[str]) -> Iterator[Problem]:
    for call in calls_of(message):
        if call.id in seen:
            yield Problem(index, "repeated_call_id", call.id)
        seen.add(call.id)
        if not good_id(call.id, dialect):
            yield Problem(index, "bad_call_id", call.id)
        if not good_name(call.name, dialect):
            yield Problem(index, "bad_tool_name", call.id)
        if not good_arguments(call.arguments):
            yield Problem(index, "bad_arguments", call.id)


def _neighbours(index: int, before: Message, now: Message, dialect: Dialect) -> Iterator[Problem]:
    if dialect.alternates and same_side(before, now):
        yield Problem(index, "same_side_twice")
    cut_short = isinstance(before, ToolMessage) and isinstance(now, UserMessage)
    if dialect.answer_before_user and cut_short:
        yield Problem(index, "user_after_tool")
