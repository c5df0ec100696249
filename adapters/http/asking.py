"""What a client asks of chat completions: their JSON in, our own values out, or a clear no.

The last message is the question and must be the user's. What stands before it is what the client
remembers of the conversation; whether it is needed is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from adapters.http.answers import Complaint
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

_YES, _NO = frozenset({"true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off", ""})
_INSTRUCTIONS = ("system", "developer")


class Part(msgspec.Struct, frozen=True):
    """A piece of a message. Only text can be read here."""

    type: str
    text: str | None = None


class WireFunction(msgspec.Struct, frozen=True):
    name: str
    arguments: str = "{}"


class WireCall(msgspec.Struct, frozen=True):
    id: str
    function: WireFunction


class WireMessage(msgspec.Struct, frozen=True):
    """One message as clients write it."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Part] | None = None
    tool_calls: list[WireCall] | None = None
    tool_call_id: str | None = None


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool = False


class ChatRequest(msgspec.Struct, frozen=True):
    """The fields that mean something here; the rest is the agent's business, not the client's."""

    messages: Annotated[list[WireMessage], msgspec.Meta(min_length=1)]
    model: str = ""
    stream: bool | str | None = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question, and what the client remembers of what was said before it."""

    text: str
    earlier: tuple[Message, ...]
    system: str
    model: str
    stream: bool
    wants_usage: bool

    @property
    def opening(self) -> str:
        """The first words of the person in this conversation."""
        said = (each.text for each in self.earlier if isinstance(each, UserMessage))
        return next(said, self.text)


def understood(request: ChatRequest) -> Asked:
    """The question in a request; a `Complaint` for what cannot be honoured."""
    _refuse_what_we_cannot(request)
    *before, last = request.messages
    at = len(before)
    if last.role != "user":
        raise _wrong(f"messages[{at}].role", "the last message must be the user's")
    text = _text(last, at)
    if not text.strip():
        raise _wrong(f"messages[{at}].content", "there are no words to answer")
    options = request.stream_options
    return Asked(
        text=text,
        earlier=tuple(_earlier(before)),
        system=_system(before),
        model=request.model,
        stream=_is_yes(request.stream),
        wants_usage=options is not None and options.include_usage,
    )


def _refuse_what_we_cannot(request: ChatRequest) -> None:
    """Never ignored: who sends these relies on them."""
    if request.tools or request.functions:
        name = "tools" if request.tools else "functions"
        raise _wrong(
            name, "the agent uses its own tools; tools of the client are not supported yet"
        )
    if request.n not in (None, 1):
        raise _wrong("n", "there is one answer to a question")
    wanted = (request.response_format or {}).get("type", "text")
    if wanted != "text":
        raise _wrong("response_format", "only answers in text are supported")


def _earlier(messages: Sequence[WireMessage]) -> list[Message]:
    found: list[Message] = []
    for at, message in enumerate(messages):
        match message.role:
            case "user":
                found.append(UserMessage(_text(message, at)))
            case "assistant":
                found.append(AssistantMessage(_text(message, at), _calls(message)))
            case "tool":
                if message.tool_call_id is None:
                    raise _wrong(f"messages[{at}].tool_call_id", "a tool's result needs it")
                found.append(ToolMessage(message.tool_call_id, _text(message, at)))
    return found


def _system(messages: Sequence[WireMessage]) -> str:
    told = [_text(each, at) for at, each in enumerate(messages) if each.role in _INSTRUCTIONS]
    return "\n".join(filter(None, told))


def _calls(message: WireMessage) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(call.id, call.function.name, call.function.arguments)
        for call in message.tool_calls or ()
    )


def _text(message: WireMessage, at: int) -> str:
    if not isinstance(message.content, list):
        return message.content or ""
    for number, part in enumerate(message.content):
        if part.type not in ("text", "input_text") or part.text is None:
            raise _wrong(
                f"messages[{at}].content[{number}]", f"'{part.type}' is not supported, only text"
            )
    return "\n".join(part.text or "" for part in message.content)


def _is_yes(given: bool | str | None) -> bool:
    if not isinstance(given, str):
        return bool(given)
    if given.strip().lower() not in _YES | _NO:
        raise _wrong("stream", "say true or false")
    return given.strip().lower() in _YES


def _wrong(param: str, words: str) -> Complaint:
    return Complaint(400, "unsupported_value", f"{param}: {words}", param=param)
