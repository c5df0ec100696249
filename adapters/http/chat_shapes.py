"""The objects of chat completions as clients know them. Pure: values in, plain objects out."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from adapters.http.answers import error_object
from hermes_actors.happenings import RunEnded, Seen, ToolBegan, ToolEnded

_FINISH = {"completed": "stop", "stopped": "stop", "halted": "length"}
_WRONG = ("failed", "expired")


class Shapes(msgspec.Struct, frozen=True):
    """What the objects of one answer have in common."""

    id: str
    created: int
    model: str

    def chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        """A piece of a streamed answer."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def finish_chunk(self, end: RunEnded) -> dict[str, Any]:
        """The last piece. What went wrong is told here, as an error that clients raise."""
        last = self.chunk({}, finish_reason(end.state)) | extension(end)
        if end.state in _WRONG:
            last["error"] = error_object(502, f"run_{end.state}", end.text or end.reason)
        return last

    def usage_chunk(self, end: RunEnded) -> dict[str, Any]:
        """Tokens, for those who asked for them."""
        return {**self._head("chat.completion.chunk"), "choices": [], "usage": usage(end)}

    def whole(self, text: str, end: RunEnded | None) -> dict[str, Any]:
        """An answer in one piece; without an end it came from no run."""
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": None},
            "logprobs": None,
            "finish_reason": finish_reason(end.state) if end else "stop",
        }
        ended = end or RunEnded("", "completed", "ok")
        head = self._head("chat.completion")
        return {**head, "choices": [choice], "usage": usage(ended), **extension(ended)}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def tool_progress(what: Seen) -> dict[str, Any] | None:
    """What a tool does; None for anything else."""
    match what:
        case ToolBegan(call=call, name=name, preview=preview):
            return {"tool": name, "toolCallId": call, "label": preview, "status": "running"}
        case ToolEnded(call=call, name=name, outcome=outcome):
            return {"tool": name, "toolCallId": call, "outcome": outcome, "status": "completed"}
    return None


def completion_id(key: str) -> str:
    """The same message has the same id, however often its answer is asked for."""
    return f"chatcmpl-{hashlib.sha256(key.encode()).hexdigest()[:29]}"


def finish_reason(state: str) -> str:
    """`length` for a limit, `error` for a failure: nothing that went wrong looks like an answer."""
    return _FINISH.get(state, "error")


def extension(end: RunEnded) -> dict[str, Any]:
    """How the run ended, where it did not simply complete."""
    if end.state == "completed":
        return {}
    told = {
        "completed": False,
        "partial": end.state in ("stopped", "halted"),
        "failed": end.state in _WRONG,
        "run_id": end.run,
        "state": end.state,
        "reason": end.reason,
    }
    return {"hermes": told}


def usage(end: RunEnded) -> dict[str, int]:
    """Tokens as clients count them."""
    total = end.input_tokens + end.output_tokens
    return {
        "prompt_tokens": end.input_tokens,
        "completion_tokens": end.output_tokens,
        "total_tokens": total,
    }
