"""A model for trying everything out: no network, no key, and nothing that could fail."""

from __future__ import annotations

import trio

from adapters.models.demo.script import perform
from adapters.models.stream import OnDelta
from hermes_actors.values import (
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)


class DemoModel:
    """Performs the script at the speed of a person who talks. It says that it is a demo."""

    async def respond(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        """Stream the answer word by word; cancelled, it falls silent at once."""
        words, thoughts, calls = list[str](), list[str](), list[ToolCall]()
        for beat in perform(request):
            await trio.sleep(beat.pause)
            match beat.delta:
                case TextDelta(text):
                    words.append(text)
                case ReasoningDelta(text):
                    thoughts.append(text)
                case ToolCallDelta(_, arguments, call_id, name):
                    calls.append(ToolCall(call_id or "", name or "", arguments))
            on_delta(beat.delta)
        await trio.lowlevel.checkpoint()
        return _reply(request, "".join(words), "".join(thoughts), tuple(calls))


def _reply(
    request: ModelRequest, text: str, reasoning: str, calls: tuple[ToolCall, ...]
) -> ModelReply:
    said = text + reasoning + "".join(call.arguments for call in calls)
    heard = request.system + "".join(getattr(each, "text", "") for each in request.messages)
    return ModelReply(
        text=text,
        tool_calls=calls,
        finish_reason="tool_calls" if calls else "stop",
        usage=Usage(input=_tokens(heard), output=_tokens(said), reasoning=_tokens(reasoning)),
        reasoning=reasoning,
        model=request.model or "demo",
    )


def _tokens(text: str) -> int:
    """About four characters to a token, so that accounting has something to count."""
    return -(-len(text) // 4)
