"""Chat completions: what we write. Pure, and the same request is always the same bytes.

`messages` is the last key of the body, so the bytes of a conversation are a prefix of the bytes of
the same conversation one message later, up to the closing brackets. That is what prompt caches on
the other side live on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from adapters.models import canonical
from adapters.models.layout import kept
from adapters.models.options import Effort, Options
from hermes_actors.values import AssistantMessage, Message, ModelRequest, ToolMessage, UserMessage

# These count their tokens without being asked, and refuse a field they do not know.
_WITHOUT_STREAM_OPTIONS = ("api.mistral.ai", "generativelanguage.googleapis.com")
WIRE = "openai_chat"
# These want the thinking of their own earlier answers back; others may refuse it.
_WANTS_THINKING_BACK = ("deepseek", "moonshot", "kimi", "mimo")


class StreamOptions(msgspec.Struct, frozen=True):
    include_usage: bool = True


class Function(msgspec.Struct, frozen=True):
    name: str
    description: str
    parameters: dict[str, Any]


class Tool(msgspec.Struct, frozen=True):
    function: Function
    type: str = "function"


class CalledFunction(msgspec.Struct, frozen=True):
    name: str
    arguments: str


class Called(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    function: CalledFunction
    type: str
    extra_content: dict[str, Any] | None = None


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    role: str
    content: str | None
    reasoning_content: str = ""
    tool_calls: tuple[Called, ...] = ()
    tool_call_id: str = ""


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The order of these fields is the order on the wire: what changes least comes first."""

    model: str
    stream: bool
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: Effort | None = None
    tools: tuple[Tool, ...] = ()
    messages: tuple[Said, ...]


def encode(request: ModelRequest, options: Options) -> bytes:
    """The body of the request that asks for this answer."""
    most = request.max_output_tokens or options.max_tokens
    own = options.host.endswith("api.openai.com")
    counts = not options.host.endswith(_WITHOUT_STREAM_OPTIONS)
    body = Body(
        model=request.model,
        stream=True,
        stream_options=StreamOptions() if counts else None,
        # OpenAI has renamed this field; everybody else still knows it by its first name.
        max_tokens=None if own else most,
        max_completion_tokens=most if own else None,
        temperature=options.temperature,
        reasoning_effort=options.reasoning_effort,
        tools=tuple(
            Tool(Function(each.name, each.description, each.parameters)) for each in request.tools
        ),
        messages=tuple(_messages(request, options.host)),
    )
    return canonical.encode(body)


def _messages(request: ModelRequest, host: str) -> Iterator[Said]:
    if request.system:
        yield Said("system", request.system)
    thinking_back = any(name in host for name in _WANTS_THINKING_BACK)
    for message in request.messages:
        yield from _said(message, request.model, thinking_back)


def _said(message: Message, model: str, thinking_back: bool) -> Iterator[Said]:
    match message:
        case UserMessage(text):
            yield Said("user", text)
        case ToolMessage(call_id, text):
            yield Said("tool", text, tool_call_id=call_id)
        case AssistantMessage(text="", tool_calls=()):
            return  # nothing was said; many servers refuse a message without content
        case AssistantMessage(text, _, reasoning):
            thinking = reasoning if thinking_back else ""
            calls = tuple(_calls(message, model))
            yield Said("assistant", text or None, reasoning_content=thinking, tool_calls=calls)


def _calls(message: AssistantMessage, model: str) -> Iterator[Called]:
    extras = {each.get("place"): each.get("extra_content") for each in kept(WIRE, model, message)}
    for place, call in enumerate(message.tool_calls):
        name, arguments = call.name or canonical.NAMELESS, canonical.arguments_text(call.arguments)
        yield Called(
            id=call.id,
            function=CalledFunction(name, arguments),
            type="function",
            extra_content=extras.get(place),
        )
