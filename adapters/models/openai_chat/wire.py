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
_PASSES_MARKS_ON = ("openrouter.ai", "nousresearch.com")
_MARKED_MESSAGES = 3
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


class Mark(msgspec.Struct, frozen=True):
    type: str = "ephemeral"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Words that a provider behind this one is asked to keep in its cache."""

    type: str = "text"
    text: str
    cache_control: Mark


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    role: str
    content: str | tuple[Part] | None
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
        messages=_marked(tuple(_messages(request, options.host)), request.model, options.host),
    )
    return canonical.encode(body)


def _marked(said: tuple[Said, ...], model: str, host: str) -> tuple[Said, ...]:
    """Marks at the system prompt and at the last three messages that have words, where they help.

    Behind such a host Anthropic's models cache only what is marked. A mark can only be on words:
    on a message without any, the request hangs.
    """
    if not (host.endswith(_PASSES_MARKS_ON) and "claude" in model):
        return said
    with_words = [place for place, each in enumerate(said) if each.content]
    places = {*with_words[-_MARKED_MESSAGES:], *(place for place in with_words[:1])}
    return tuple(_mark(each) if place in places else each for place, each in enumerate(said))


def _mark(said: Said) -> Said:
    assert isinstance(said.content, str)
    return msgspec.structs.replace(said, content=(Part(text=said.content, cache_control=Mark()),))


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
