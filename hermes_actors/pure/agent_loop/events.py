"""What the agent loop hears and what it wants done: events in, effects out.

Whoever drives the loop performs the effects in the order in which they are given:

    Keep      append this message to the stored transcript, before what follows
    AskModel  call the model; its words go to the reader as they arrive
    Say       words for the reader. Those with origin "model" have been read already, delta by
              delta: they close what was streamed. All others begin here and are sent once
    Warn      a line for people who watch; not part of the answer
    RunTools  run these calls, side by side or in order, and report each
    Compact   make the history smaller, in one transaction, and report
    End       the run is over; nothing follows
"""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_actors.pure.endings import Ending, Reason
from hermes_actors.pure.stop_report import CutOff
from hermes_actors.values import Message, ModelReply, ToolCall

Origin = Literal["model", "guardrail", "limit", "provider", "notice", "stop"]

# Events -----------------------------------------------------------------------------------------


class Begin(msgspec.Struct, frozen=True):
    """The run starts; the history ends with what the person said."""


class ModelReplied(msgspec.Struct, frozen=True):
    """The model has answered in full."""

    reply: ModelReply


class ModelGaveUp(msgspec.Struct, frozen=True):
    """No answer will come: every retry and every fallback has been tried. `kind` is the trouble as
    providers name it, `partial` what had been streamed of the last answer."""

    kind: str
    words: str = ""
    partial: str = ""


class ToolAnswered(msgspec.Struct, frozen=True):
    """A call has its result. `failed` is None if the tool does not say; then the text is judged.
    `denied`: a person said no, so it was not run."""

    call_id: str
    text: str
    failed: bool | None = None
    denied: bool = False


class Steered(msgspec.Struct, frozen=True):
    """A person said something to the run in progress."""

    text: str


class Compacted(msgspec.Struct, frozen=True):
    """The history was replaced by a smaller one, and that is stored."""

    history: tuple[Message, ...]


class CompactionRefused(msgspec.Struct, frozen=True):
    """The history stays as it is."""

    why: str = ""


class Cut(msgspec.Struct, frozen=True):
    """The run is ended from outside: stopped, out of time, or something it needs has failed.
    `cut_off` says what was cancelled, `partial` what the model had said, `words` more about why."""

    reason: Reason
    cut_off: CutOff = CutOff()
    partial: str = ""
    words: str = ""


Event = (
    Begin
    | ModelReplied
    | ModelGaveUp
    | ToolAnswered
    | Steered
    | Compacted
    | CompactionRefused
    | Cut
)

# Effects ----------------------------------------------------------------------------------------


class AskModel(msgspec.Struct, frozen=True):
    """Call the model. `fallback`: another provider, if there is one. `max_output_tokens` is given
    where an answer was cut by its length; else the configuration decides."""

    messages: tuple[Message, ...]
    tools: bool = True
    max_output_tokens: int | None = None
    fallback: bool = False


class RunTools(msgspec.Struct, frozen=True):
    """Run these calls; `concurrent` only if they cannot disturb each other."""

    calls: tuple[ToolCall, ...]
    concurrent: bool = False


class Keep(msgspec.Struct, frozen=True):
    """Store this message."""

    message: Message


class Say(msgspec.Struct, frozen=True):
    """Words for the reader."""

    text: str
    origin: Origin


class Warn(msgspec.Struct, frozen=True):
    """Something that is worth a line; `code` is for machines."""

    code: str
    text: str


class Compact(msgspec.Struct, frozen=True):
    """Make this history smaller."""

    history: tuple[Message, ...]


class End(msgspec.Struct, frozen=True):
    """How it ended, with the whole of the answer. `unheard` are words of a person that came too
    late for this run: they are the next message."""

    ending: Ending
    text: str
    unheard: tuple[str, ...] = ()


Effect = AskModel | RunTools | Keep | Say | Warn | Compact | End
