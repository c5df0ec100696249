"""Between the messages a model knows and the lines that the store keeps."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from hermes_actors.store.messages import Message as Line
from hermes_actors.store.messages import NewMessage as NewLine
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

_calls = msgspec.json.Decoder(tuple[ToolCall, ...])


def line_of(message: Message, *, partial: bool = False, tool: str | None = None) -> NewLine:
    """A message as a line to store."""
    match message:
        case UserMessage(text):
            return NewLine(role="user", content=text)
        case AssistantMessage(text, calls, reasoning):
            spelled = msgspec.json.encode(calls).decode() if calls else None
            return NewLine(
                role="assistant",
                content=text,
                tool_calls=spelled,
                reasoning=reasoning or None,
                partial=partial,
            )
        case ToolMessage(call_id, text):
            return NewLine(role="tool", content=text, tool_call_id=call_id, tool_name=tool)


def message_of(line: Line) -> Message | None:
    """A stored line as the model will see it; None for lines that are not for models."""
    text = line.content or ""
    match line.role:
        case "user":
            return UserMessage(text)
        case "assistant":
            calls = _calls.decode(line.tool_calls) if line.tool_calls else ()
            return AssistantMessage(text, calls, line.reasoning or "")
        case "tool":
            return ToolMessage(line.tool_call_id or "", text)
    return None


def history_of(lines: Iterable[Line]) -> list[Message]:
    """Stored lines as a history."""
    return [message for line in lines if (message := message_of(line)) is not None]
