"""OpenAI's responses: what we write. Pure, and the same request is always the same bytes.

Nothing is stored on the other side: the whole conversation is sent each time, and thinking comes
back to us sealed, to be sent along with the calls that it led to. `input` is the last key of the
body, so a conversation's bytes are a prefix of the bytes one message later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from adapters.models import canonical
from adapters.models.layout import Block, arranged, kept
from adapters.models.options import Effort, Options
from hermes_actors.values import (
    AssistantMessage,
    Message,
    ModelRequest,
    ToolCall,
    ToolMessage,
    UserMessage,
)

WIRE = "openai_responses"

_SEALED = "reasoning.encrypted_content"
_THINKS = re.compile(r"(^|/)(o\d|gpt-[5-9]|codex)")


class Reasoning(msgspec.Struct, frozen=True, omit_defaults=True):
    effort: Effort | None = None
    summary: str = ""


class Tool(msgspec.Struct, frozen=True):
    name: str
    description: str
    parameters: dict[str, Any]
    type: str = "function"
    strict: bool = False


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The order of these fields is the order on the wire: what changes least comes first."""

    model: str
    stream: bool
    store: bool
    include: tuple[str, ...] = ()
    max_output_tokens: int | None = None
    temperature: float | None = None
    reasoning: Reasoning | None = None
    instructions: str = ""
    tools: tuple[Tool, ...] = ()
    input: tuple[Block, ...]


def encode(request: ModelRequest, options: Options) -> bytes:
    """The body of the request that asks for this answer."""
    effort = options.reasoning_effort
    thinks = effort != "none" and bool(effort or _THINKS.search(request.model))
    body = Body(
        model=request.model,
        stream=True,
        store=False,
        include=(_SEALED,) if thinks else (),
        max_output_tokens=request.max_output_tokens or options.max_tokens,
        temperature=options.temperature,
        reasoning=Reasoning(effort, "auto" if thinks else "") if effort else None,
        instructions=request.system,
        tools=tuple(Tool(each.name, each.description, each.parameters) for each in request.tools),
        input=tuple(item for each in request.messages for item in _items(each, request.model)),
    )
    return canonical.encode(body)


def _items(message: Message, model: str) -> Iterator[Block]:
    match message:
        case UserMessage(text):
            yield {"role": "user", "content": text}
        case ToolMessage(call_id, text):
            yield {
                "type": "function_call_output",
                "call_id": canonical.plain_id(call_id),
                "output": text,
            }
        case AssistantMessage():
            calls = [_call(each) for each in message.tool_calls]
            yield from arranged(kept(WIRE, model, message), message.text, calls, _words)


def _words(text: str) -> list[Block]:
    return [{"role": "assistant", "content": text}] if text else []


def _call(call: ToolCall) -> Block:
    return {
        "type": "function_call",
        "call_id": canonical.plain_id(call.id),
        "name": call.name or canonical.NAMELESS,
        "arguments": canonical.arguments_text(call.arguments),
    }
