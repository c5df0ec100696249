"""Anthropic's messages: what we write. Pure, and the same request is always the same bytes.

Three things are told apart from other providers. Roles alternate, so the results of tools and the
words after them share one message. A model that thinks wants its signed thoughts back with the
results of the tools it called, from the same model and unchanged. And what is to be cached is
marked: the system prompt (with the tools before it) and the ends of the last three messages, so
that each call finds the mark of the call before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from adapters.models import canonical
from adapters.models.options import Effort, Options
from hermes_actors.values import AssistantMessage, Message, ModelRequest, ToolMessage, UserMessage

Block = dict[str, Any]

_MARK = {"type": "ephemeral"}
_MARKED_MESSAGES = 3
_MOST_OUTPUT = (
    ("claude-3-5", 8192),
    ("claude-3-7", 64_000),
    ("claude-3", 4096),
    ("claude", 32_000),
)
_SOME_OUTPUT = 8192
_THOUGHT: dict[Effort, int] = {"low": 2048, "medium": 8192, "high": 24_576}
_LEAST_THOUGHT = 1024
_NO_WORDS = "(no text)"


class Thinking(msgspec.Struct, frozen=True):
    budget_tokens: int
    type: str = "enabled"


class Tool(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    description: str
    input_schema: dict[str, Any]
    cache_control: dict[str, str] | None = None


class Said(msgspec.Struct, frozen=True):
    role: str
    content: list[Block]


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The order of these fields is the order on the wire: what changes least comes first."""

    model: str
    max_tokens: int
    stream: bool
    temperature: float | None = None
    thinking: Thinking | None = None
    tools: tuple[Tool, ...] = ()
    system: list[Block] = []
    messages: list[Said]


class Opaque(msgspec.Struct, frozen=True):
    """Thoughts as they came, and whose they are: no other model can check the signature."""

    anthropic: list[Block]
    model: str


_OPAQUE = msgspec.json.Decoder(Opaque)


def encode(request: ModelRequest, options: Options) -> bytes:
    """The body of the request that asks for this answer."""
    most = request.max_output_tokens or options.max_tokens or _most_output(request.model)
    thinking = _thinking(request, options, most)
    body = Body(
        model=request.model,
        max_tokens=most,
        stream=True,
        temperature=None if thinking else options.temperature,
        thinking=thinking,
        tools=_tools(request),
        system=[_marked(_text(request.system))] if request.system.strip() else [],
        messages=_with_marks(_alternating(request)),
    )
    return canonical.encode(body)


def keep(blocks: list[Block], model: str) -> str:
    """Thoughts in the form in which a reply carries them."""
    return canonical.encode(Opaque(blocks, model)).decode() if blocks else ""


def _most_output(model: str) -> int:
    return next((most for name, most in _MOST_OUTPUT if name in model), _SOME_OUTPUT)


def _thinking(request: ModelRequest, options: Options, most: int) -> Thinking | None:
    budget = min(_THOUGHT.get(options.reasoning_effort or "none", 0), most // 2)
    if budget < _LEAST_THOUGHT or _thoughts_are_lost(request):
        return None
    return Thinking(budget)


def _thoughts_are_lost(request: ModelRequest) -> bool:
    """True when tools were called and the thoughts before that are not at hand: then thinking
    must stay off until the next question, or the provider refuses the whole conversation."""
    for message in reversed(request.messages):
        if isinstance(message, UserMessage):
            return False
        if isinstance(message, AssistantMessage) and message.tool_calls:
            return not _thoughts(message, request.model)
    return False


def _tools(request: ModelRequest) -> tuple[Tool, ...]:
    tools = [Tool(each.name, each.description, each.parameters) for each in request.tools]
    if tools and not request.system.strip():
        tools[-1] = msgspec.structs.replace(tools[-1], cache_control=_MARK)
    return tuple(tools)


def _alternating(request: ModelRequest) -> list[Said]:
    said: list[Said] = []
    for message in request.messages:
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        blocks = list(_blocks(message, request.model))
        if said and said[-1].role == role:
            said[-1].content.extend(blocks)
        elif blocks:
            said.append(Said(role, blocks))
    return said


def _blocks(message: Message, model: str) -> Iterator[Block]:
    match message:
        case UserMessage(text):
            yield _text(text if text.strip() else _NO_WORDS)
        case ToolMessage(call_id, text):
            result = {"type": "tool_result", "tool_use_id": canonical.plain_id(call_id)}
            yield {**result, "content": text if text.strip() else _NO_WORDS}
        case AssistantMessage(text, tool_calls):
            yield from _thoughts(message, model)
            if text.strip():
                yield _text(text.rstrip())
            for call in tool_calls:
                yield {
                    "type": "tool_use",
                    "id": canonical.plain_id(call.id),
                    "name": call.name or canonical.NAMELESS,
                    "input": canonical.arguments_object(call.arguments),
                }


def _thoughts(message: AssistantMessage, model: str) -> list[Block]:
    try:
        kept = _OPAQUE.decode(message.opaque or "null")
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return []  # another provider's, or none
    return kept.anthropic if kept.model == model else []


def _with_marks(said: list[Said]) -> list[Said]:
    for message in said[-_MARKED_MESSAGES:]:
        if message.content[-1]["type"] in ("text", "tool_result", "tool_use"):
            message.content[-1] = _marked(message.content[-1])
    return said


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _marked(block: Block) -> Block:
    return {**block, "cache_control": _MARK}
