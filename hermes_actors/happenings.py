"""What can be seen of a run while it runs: one union, for every surface.

A web page, an SSE stream, a terminal, a chat pacer and a speaker all read these values. `Words` is
the only one that carries what people read; there is no second road for text.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Origin = Literal["model", "notice", "ending"]
"""Who speaks: the model, the gateway meanwhile, or the gateway in place of a missing answer."""


class Happening(msgspec.Struct, frozen=True, tag_field="type"):
    """Something that happened in a run."""

    run: str


class RunBegan(Happening, frozen=True, tag="run_began"):
    """A message was taken in hand; `keys` are the messages that this run answers."""

    session_key: str
    agent: str
    keys: tuple[str, ...] = ()


class Words(Happening, frozen=True, tag="words"):
    """The next words to read."""

    text: str
    origin: Origin = "model"


class Thoughts(Happening, frozen=True, tag="thoughts"):
    """The next words of the model's thinking; shown only where somebody asked for it."""

    text: str


class SegmentEnded(Happening, frozen=True, tag="segment_ended"):
    """The words so far are complete; what follows is a new paragraph after tools have run."""


class ToolBegan(Happening, frozen=True, tag="tool_began"):
    """A tool starts to act. `preview` is a short form of its arguments."""

    call: str
    name: str
    preview: str = ""


class ToolEnded(Happening, frozen=True, tag="tool_ended"):
    """It has returned, failed or been cut."""

    call: str
    name: str
    outcome: str
    seconds: float = 0.0


class RunEnded(Happening, frozen=True, tag="run_ended"):
    """Nothing of this run will follow. `text` is the whole answer as it was stored."""

    state: str
    reason: str
    text: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


Seen = RunBegan | Words | Thoughts | SegmentEnded | ToolBegan | ToolEnded | RunEnded
