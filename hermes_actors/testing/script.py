"""What a double is told to do: waits, silences, and replies of a model as a list of beats.

A line of a model's script is one reply. It is written as what arrives, in the order in which it
arrives: words, thoughts, tool calls, a pause, an error. So "hang in the middle of the stream" is
`["Half a sente", HANG]`, and needs no option of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from hermes_actors.values import (
    FinishReason,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)


class Pause(msgspec.Struct, frozen=True):
    """Nothing happens for so many (virtual) seconds."""

    seconds: float


class Hang(msgspec.Struct, frozen=True):
    """Nothing happens any more, until the caller gives up."""


class Finish(msgspec.Struct, frozen=True):
    """The reply ends for this reason, rather than for the one that its contents suggest."""

    reason: FinishReason


HANG: Final = Hang()

Beat = str | TextDelta | ReasoningDelta | ToolCall | Usage | Pause | Hang | Finish | Exception
"""One thing that arrives. A text is streamed word by word; an exception is raised."""

BEATS: Final = Beat.__args__

Reply = Beat | Iterable[Beat]
Line = Reply | Callable[[ModelRequest], Reply]
"""One reply, or a function that makes it from the request."""


def calls(tool: str, /, **arguments: Any) -> ToolCall:
    """A call of this tool; the model gives it an id. For broken JSON, write a `ToolCall`."""
    return ToolCall("", tool, json.dumps(arguments))


def checked(line: Line) -> Line:
    """The line itself, if it is one; a `TypeError` that names it, if it is not."""
    if callable(line):
        return line
    return beats(line)


def beats(reply: Reply) -> tuple[Beat, ...]:
    """A reply as its beats."""
    listed = (reply,) if isinstance(reply, BEATS) else tuple(_each(reply))
    for beat in listed:
        if not isinstance(beat, BEATS):
            raise TypeError(f"a model cannot say {beat!r}; see hermes_actors.testing.script.Beat")
    return listed


def _each(reply: Any) -> Iterator[Any]:
    try:
        return iter(reply)
    except TypeError:
        return iter((reply,))
