"""Anthropic's messages: what we write. Pure, and the same request is always the same bytes.

Two things are unlike other providers. Roles alternate, so the results of tools and the words after
them share one message. And what is to be cached is marked: the system prompt (with the tools before
it) and the ends of the last three messages, so that each call finds the mark of the call before.
Thinking is in `thinking.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from adapters.models import canonical
from adapters.models.anthropic.thinking import WIRE, Output, Thinking, wanted
from adapters.models.layout import Block, arranged, kept
from adapters.models.options import Options
from hermes_actors.values import (
    AssistantMessage,
    Message,
    ModelRequest,
    ToolCall,
    ToolMessage,
    UserMessage,
)

_MARK = {"type": "ephemeral"}
_MARKED_MESSAGES = 3
_MOST_OUTPUT = (
    ("claude-3-5", 8192),
    ("claude-3-7", 64_000),
    ("claude-3", 4096),
    ("claude", 32_000),
)
_SOME_OUTPUT = 8192
_NO_WORDS = "(no text)"


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
    output_config: Output | None = None
    tools: tuple[Tool, ...] = ()
    system: list[Block] = []
    messages: list[Said]


def encode(request: ModelRequest, options: Options) -> bytes:
    """The body of the request that asks for this answer."""
    most = request.max_output_tokens or options.max_tokens or _most_output(request.model)
    thinking = wanted(request, options, most)
    effort = options.reasoning_effort if thinking == Thinking("adaptive") else None
    body = Body(
        model=request.model,
        max_tokens=most,
        stream=True,
        temperature=None if thinking else options.temperature,
        thinking=thinking,
        output_config=Output(effort) if effort else None,
        tools=_tools(request),
        system=[_marked(_text(request.system))] if request.system.strip() else [],
        messages=_with_marks(_alternating(request)),
    )
    return canonical.encode(body)


def _most_output(model: str) -> int:
    return next((most for name, most in _MOST_OUTPUT if name in model), _SOME_OUTPUT)


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
        case AssistantMessage():
            calls = [_call(each) for each in message.tool_calls]
            yield from arranged(kept(WIRE, model, message), message.text, calls, _words)


def _call(call: ToolCall) -> Block:
    return {
        "type": "tool_use",
        "id": canonical.plain_id(call.id),
        "name": call.name or canonical.NAMELESS,
        "input": canonical.arguments_object(call.arguments),
    }


def _with_marks(said: list[Said]) -> list[Said]:
    for message in said[-_MARKED_MESSAGES:]:
        if message.content[-1]["type"] in ("text", "tool_result", "tool_use"):
            message.content[-1] = _marked(message.content[-1])
    return said


def _words(text: str) -> list[Block]:
    """Words without blanks at their end, which are refused in the last message; no blank words."""
    return [_text(text.rstrip())] if text.strip() else []


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _marked(block: Block) -> Block:
    return {**block, "cache_control": _MARK}
