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
from adapters.models.options import Effort, Options
from hermes_actors.values import AssistantMessage, Message, ModelRequest, ToolMessage, UserMessage

Item = dict[str, Any]

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
    input: tuple[Item, ...]


class Opaque(msgspec.Struct, frozen=True):
    """Sealed thinking as it came, and whose it is."""

    responses: list[Item]
    model: str


_OPAQUE = msgspec.json.Decoder(Opaque)


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


def keep(items: list[Item], model: str) -> str:
    """Sealed thinking in the form in which a reply carries it."""
    return canonical.encode(Opaque(items, model)).decode() if items else ""


def _items(message: Message, model: str) -> Iterator[Item]:
    match message:
        case UserMessage(text):
            yield {"role": "user", "content": text}
        case ToolMessage(call_id, text):
            yield {
                "type": "function_call_output",
                "call_id": canonical.plain_id(call_id),
                "output": text,
            }
        case AssistantMessage(text, tool_calls):
            yield from _thoughts(message, model)
            if text:
                yield {"role": "assistant", "content": text}
            for call in tool_calls:
                yield {
                    "type": "function_call",
                    "call_id": canonical.plain_id(call.id),
                    "name": call.name or canonical.NAMELESS,
                    "arguments": canonical.arguments_text(call.arguments),
                }


def _thoughts(message: AssistantMessage, model: str) -> list[Item]:
    try:
        kept = _OPAQUE.decode(message.opaque or "null")
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return []  # another provider's, or none
    return kept.responses if kept.model == model else []
