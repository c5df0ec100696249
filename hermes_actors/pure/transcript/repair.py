"""Mends a history so that a model's provider takes it, and loses as few words as it can.

Three passes, each leaving the next less to think about:

    pair      every call gets its own result, directly behind it and in order; results without a
              call are dropped, calls without a result are answered with `[stopped]`
    clean     ids, names, arguments and characters become such as the dialect allows
    arrange   empty messages go, neighbours of one side are joined, gaps between sides are filled

A history that is valid is returned as it is, so mending twice is mending once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from hermes_actors.pure.transcript.dialects import Dialect
from hermes_actors.pure.transcript.rules import (
    calls_of,
    encodable,
    good_arguments,
    good_id,
    good_name,
    same_side,
    says_nothing,
)
from hermes_actors.pure.transcript.seal import STOPPED
from hermes_actors.pure.transcript.validate import validate
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

EARLIER = "[earlier messages are not shown]"
NAMELESS = "invalid_tool_call"
UNREADABLE = "[the arguments of this call could not be read and are left out]"

Step = tuple[Message, list[str | None]]
"""A message that is no result, and one place for the result of each of its calls."""


def repair(history: Sequence[Message], dialect: Dialect) -> tuple[Message, ...]:
    """The nearest history that is valid in this dialect; an empty one stays empty."""
    if not validate(history, dialect):
        return tuple(history)
    cleaned = _Cleaner(history, dialect)
    steps = [cleaned.step(message, results) for message, results in _paired(history)]
    return tuple(_arranged(steps, dialect))


def _paired(history: Sequence[Message]) -> list[Step]:
    """Bring each result to the latest open call with its id, wherever it stands after it."""
    steps: list[Step] = []
    places: dict[str, list[tuple[list[str | None], int]]] = {}
    for message in history:
        if isinstance(message, ToolMessage):
            if waiting := places.get(message.call_id):
                results, at = waiting.pop(0)
                results[at] = message.text
            continue
        calls = calls_of(message)
        answers: list[str | None] = [None] * len(calls)
        places.update({call.id: [] for call in calls})
        for at, call in enumerate(calls):
            places[call.id].append((answers, at))
        steps.append((message, answers))
    return steps


class _Cleaner:
    """Knows which ids are taken, so that a new one never meets an old one."""

    def __init__(self, history: Iterable[Message], dialect: Dialect) -> None:
        self._dialect = dialect
        self._given = {call.id for message in history for call in calls_of(message)}
        self._used: set[str] = set()

    def step(self, message: Message, results: list[str | None]) -> list[Message]:
        """A message and its results, each with words and names that can be sent."""
        if not isinstance(message, AssistantMessage):
            return [replace(message, text=encodable(message.text))]
        calls = tuple(map(self._call, message.tool_calls))
        words, thoughts = encodable(message.text), encodable(message.reasoning)
        answers = [
            ToolMessage(new.id, _answer(old, text))
            for old, new, text in zip(message.tool_calls, calls, results, strict=True)
        ]
        return [AssistantMessage(words, calls, thoughts, message.opaque), *answers]

    def _call(self, call: ToolCall) -> ToolCall:
        name = call.name if good_name(call.name, self._dialect) else NAMELESS
        arguments = call.arguments if _sendable(call) else "{}"
        return ToolCall(self._id(call.id), name, arguments)

    def _id(self, call_id: str) -> str:
        if call_id in self._used or not good_id(call_id, self._dialect):
            call_id = self._fresh(call_id)
        self._used.add(call_id)
        return call_id

    def _fresh(self, call_id: str) -> str:
        """An id that looks like the old one and is nobody's."""
        room = self._dialect.longest_call_id - 8
        plain = "".join(c for c in call_id if c.isascii() and (c.isalnum() or c in "_-"))
        base, number = plain[:room] or "call", 2
        while (fresh := f"{base}_{number}") in self._used or fresh in self._given:
            number += 1
        return fresh


def _sendable(call: ToolCall) -> bool:
    return good_arguments(call.arguments) and encodable(call.arguments) == call.arguments


def _answer(call: ToolCall, text: str | None) -> str:
    words = STOPPED if text is None else encodable(text)
    # No arguments at all mean an empty object; only what is really lost is worth a remark.
    lost = call.arguments.strip() and not _sendable(call)
    return f"{UNREADABLE}\n{words}" if lost else words


def _arranged(steps: Iterable[list[Message]], dialect: Dialect) -> Iterator[Message]:
    """Put the steps in a row that has no holes and no doubles."""
    before: Message | None = None
    for first, *results in steps:
        if says_nothing(first):
            continue
        if before is not None and dialect.alternates and same_side(before, first):
            before = _joined(before, first)
        else:
            yield from () if before is None else (before,)
            yield from _between(before, first, dialect)
            before = first
        if results:
            yield before
            yield from results[:-1]
            before = results[-1]
    yield from () if before is None else (before,)


def _between(before: Message | None, now: Message, dialect: Dialect) -> Iterator[Message]:
    if before is None and dialect.user_first and not isinstance(now, UserMessage):
        yield UserMessage(EARLIER)
    cut_short = isinstance(before, ToolMessage) and isinstance(now, UserMessage)
    if cut_short and dialect.answer_before_user:
        yield AssistantMessage(STOPPED)


def _joined(one: Message, other: Message) -> Message:
    if isinstance(one, AssistantMessage) and isinstance(other, AssistantMessage):
        return AssistantMessage(
            _text((one.text, other.text), "\n"),
            one.tool_calls + other.tool_calls,
            _text((one.reasoning, other.reasoning), "\n"),
            other.opaque or one.opaque,
        )
    return UserMessage(_text((one.text, other.text), "\n\n"))


def _text(parts: tuple[str, str], between: str) -> str:
    return between.join(filter(None, parts))
