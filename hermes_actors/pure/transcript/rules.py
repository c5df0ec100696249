"""Questions about a single message, asked by those who judge a history and those who mend it."""

from __future__ import annotations

import json
import re
from functools import lru_cache

from hermes_actors.pure.transcript.dialects import Dialect
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

_SURROGATE = re.compile("[\ud800-\udfff]")


def says_nothing(message: Message) -> bool:
    """True for words that are none. The result of a tool may be empty: it is still a result."""
    match message:
        case UserMessage(text):
            return not text.strip()
        case AssistantMessage(text, calls):
            return not calls and not text.strip()
        case ToolMessage():
            return False


def is_encodable(text: str) -> bool:
    """Can this be written as UTF-8? Half of a surrogate pair cannot, and fails the whole call."""
    return text.isascii() or _SURROGATE.search(text) is None


def encodable(text: str) -> str:
    """The same text with what cannot be encoded replaced."""
    return text if is_encodable(text) else _SURROGATE.sub("\ufffd", text)


def good_id(call_id: str, dialect: Dialect) -> bool:
    """May a call have this id?"""
    fits = len(call_id) <= dialect.longest_call_id
    return fits and _pattern(dialect.call_id).fullmatch(call_id) is not None


def good_name(name: str, dialect: Dialect) -> bool:
    """May a tool have this name?"""
    fits = len(name) <= dialect.longest_tool_name
    return fits and _pattern(dialect.tool_name).fullmatch(name) is not None


def good_arguments(arguments: str) -> bool:
    """Are these arguments a JSON object that every reader accepts?"""
    if arguments == "{}":
        return True
    try:
        parsed = json.loads(arguments, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    # An escaped half of a pair is valid JSON and still no text that can be sent on.
    return isinstance(parsed, dict) and ("\\u" not in arguments or is_encodable(_shown(parsed)))


def texts(message: Message) -> tuple[str, ...]:
    """Every text in a message that goes over the wire as it is."""
    match message:
        case AssistantMessage(text, calls, reasoning):
            return text, reasoning, *(call.arguments for call in calls)
        case _:
            return (message.text,)


def same_side(one: Message, other: Message) -> bool:
    """Do two messages come from one side, so that a strict reader misses the other?"""
    return type(one) is type(other) and not isinstance(one, ToolMessage)


def calls_of(message: Message) -> tuple[ToolCall, ...]:
    """The calls in a message; only the model's messages have any."""
    return message.tool_calls if isinstance(message, AssistantMessage) else ()


def _shown(parsed: object) -> str:
    return json.dumps(parsed, ensure_ascii=False)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


@lru_cache(maxsize=64)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)
