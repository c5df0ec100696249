"""How an answer ended, in our words: providers have many, we have four."""

from __future__ import annotations

from typing import Any

from adapters.models.assembly import Assembly
from adapters.models.trouble import Interpreter
from hermes_actors.ports import ModelFailed
from hermes_actors.values import FinishReason

_CUT = frozenset(
    (
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
    )
)
_BLOCKED = frozenset(
    ("content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocklist")
)


def finish_reason(said: str | None, with_calls: bool) -> FinishReason:
    """What `said` means. An unknown word means that the answer is there, so it is used."""
    word = (said or "").lower()
    if word in _CUT:
        return "length"
    if word in _BLOCKED:
        return "content_filter"
    return "tool_calls" if with_calls else "stop"


def broken_off(interpreter: Interpreter, assembly: Assembly) -> ModelFailed:
    """The stream has ended and the answer has not. What came of it must not be acted upon."""
    if assembly.empty:
        return interpreter.garbled("it was empty")
    return interpreter.garbled("it broke off before its end")


def count(value: Any) -> int:
    """A number of tokens, whatever a server has put there."""
    return max(0, int(value)) if isinstance(value, int | float) and abs(value) < 1e15 else 0
