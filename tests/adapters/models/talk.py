"""Requests, readings and scripted answers that the tests of all providers share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from adapters.models.sse import SseEvent
from adapters.models.stream import Reading
from adapters.models.trouble import Interpreter
from hermes_actors.redact import Redactor
from hermes_actors.values import (
    AssistantMessage,
    Delta,
    Message,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)

TERMINAL = ToolSpec(
    "terminal",
    "Run a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
INTERPRETER = Interpreter("somebody", Redactor())

_WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_CALLS = st.builds(
    ToolCall,
    st.text("abc:._", min_size=1, max_size=6),
    st.sampled_from(["terminal", ""]),
    st.sampled_from(["{}", '{"b":1,"a":[2]}', '{"broken', ""]),
)
_ROUNDS: st.SearchStrategy[list[Message]] = st.one_of(
    st.builds(lambda text: [UserMessage(text)], _WORDS),
    st.builds(lambda text: [AssistantMessage(text)], _WORDS),
    st.builds(
        lambda text, calls, result: [
            AssistantMessage(text, tuple(calls)),
            *(ToolMessage(call.id, result) for call in calls),
        ],
        _WORDS,
        st.lists(_CALLS, min_size=1, max_size=3, unique_by=lambda call: call.id),
        _WORDS,
    ),
)
CONVERSATIONS: st.SearchStrategy[tuple[Message, ...]] = st.lists(
    _ROUNDS, min_size=1, max_size=6
).map(lambda rounds: tuple(message for each in rounds for message in each))


def ask(*messages: Message, **more: Any) -> ModelRequest:
    """A request with tools and a system prompt."""
    given: dict[str, Any] = {"tools": (TERMINAL,), "system": "Be kind.", "model": "m", **more}
    return ModelRequest(run="r1", messages=messages or (UserMessage("hello"),), **given)


def read(reading: Reading, *events: Any) -> tuple[list[Delta], ModelReply]:
    """What an answer says piece by piece, and as a whole. Events are JSON, or text as it is."""
    deltas: list[Delta] = []
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        deltas += reading.event(SseEvent("", data.encode()))
    return deltas, reading.reply()


def sse(*events: Any) -> bytes:
    """The same events as bytes."""
    texts = (each if isinstance(each, str) else json.dumps(each) for each in events)
    return b"".join(b"data: %b\n\n" % text.encode() for text in texts)


def reader(
    make: Callable[[ModelRequest, Interpreter], Reading],
) -> Callable[..., tuple[list[Delta], ModelReply]]:
    """`read` for one provider and an ordinary request."""
    return lambda *events: read(make(ask(), INTERPRETER), *events)
