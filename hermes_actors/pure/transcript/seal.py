"""Closes a history that was cut: what was open is answered, what was half said is kept and marked.

After it, the history is fit for the next call in every dialect, as far as this run is concerned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hermes_actors.pure.transcript.rules import calls_of
from hermes_actors.values import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

STOPPED = "[stopped]"
UNKNOWN_EFFECT = (
    "[effect unknown] The process ended while this call was running. "
    "Find out what it has done before you call it again."
)
MAY_REPEAT = (
    "[no result] The process ended while this call was running. "
    "A second call changes nothing, so it may simply be called again."
)
ACTED = "[stopped] This call had finished, but its result was not kept."
LEFT_BEHIND = (
    "[stopped] This call could not be interrupted. "
    "Find out what it has done before you call it again."
)


def open_calls(history: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls at the end of a history that have no result yet, in their order."""
    answered: set[str] = set()
    for message in reversed(history):
        if not isinstance(message, ToolMessage):
            return tuple(call for call in calls_of(message) if call.id not in answered)
        answered.add(message.call_id)
    return ()


def seal(
    history: Sequence[Message], partial: str = "", results: Mapping[str, str] | None = None
) -> tuple[Message, ...]:
    """The history with its end closed; one that is closed already comes back as it is.

    `partial` is what the model had said when it was cut. `results` are texts for open calls of
    which more is known than that they were stopped.
    """
    known = results or {}
    late = [ToolMessage(call.id, known.get(call.id, STOPPED)) for call in open_calls(history)]
    closed = (*history, *late)
    if partial.strip():
        return *closed, AssistantMessage(marked(partial))
    # Without a word of its own here, the next message would read like a part of the stopped one,
    # and the model would do after all what it was told to stop.
    if closed and isinstance(closed[-1], ToolMessage | UserMessage):
        return *closed, AssistantMessage(STOPPED)
    return closed


def marked(partial: str) -> str:
    """Words that were cut, with the mark that says so."""
    return f"{partial.rstrip()} {STOPPED}"
