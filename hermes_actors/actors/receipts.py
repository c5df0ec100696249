"""What a surface is told about a message that it has handed in."""

from __future__ import annotations

import msgspec


class Kept(msgspec.Struct, frozen=True):
    """The message is committed and will be answered. `again`: it was here before.

    `text` is what its sender may be told meanwhile, and empty when it is taken in hand at once.
    """

    session_key: str
    agent_id: str
    again: bool = False
    text: str = ""


class Answered(msgspec.Struct, frozen=True):
    """No run is needed: these are the words for the sender.

    With `run` they are also the last words of that run: a surface that shows its replies has shown
    them, and does not show them twice.
    """

    session_key: str
    text: str
    run: str | None = None


class Ignored(msgspec.Struct, frozen=True):
    """Not for us, or a policy said no; nothing was kept."""

    reason: str


Receipt = Kept | Answered | Ignored


class Address(msgspec.Struct, frozen=True):
    """Where a message belongs."""

    session_key: str
    agent_id: str


class Said(msgspec.Struct, frozen=True):
    """What a command answers. With `run` these are the last words of that run."""

    text: str
    run: str | None = None
