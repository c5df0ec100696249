"""What all actors of one gateway share: the journal, and where undeliverable messages go."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec

from hermes_actors.errors import ActorGone
from hermes_actors.journal import Journal
from hermes_actors.runtime.mailbox import Mailbox
from hermes_actors.runtime.ref import Down


class DeadLetter(msgspec.Struct, frozen=True):
    """A message that was accepted and will never be handled."""

    actor: str
    message: Any
    reason: str


class System:
    """The journal and the dead letters. Made once, handed to supervisors and registries."""

    def __init__(self, journal: Journal | None = None, *, keep_letters: int = 1000) -> None:
        self.journal = journal or Journal()
        self._letters: deque[DeadLetter] = deque(maxlen=keep_letters)
        self.letters_buried = 0

    def dead_letters(self) -> list[DeadLetter]:
        """The last letters, oldest first; `letters_buried` counts all of them."""
        return list(self._letters)

    def bury(self, actor: str, message: Any, reason: str) -> None:
        """Keep a message that nobody will handle, and say so."""
        self._letters.append(DeadLetter(actor, message, reason))
        self.letters_buried += 1
        self.journal.note("letter.dead", actor=actor, message=type(message).__name__, reason=reason)

    def retire(self, box: Mailbox[Any], reason: str) -> None:
        """Close an address for good: askers are refused, the rest is buried, watchers are told."""
        if box.closed is not None:
            return
        box.close(reason)
        if box.life is not None:
            box.life.forsake(reason)
        for envelope in box.drain():
            if envelope.reply is not None:
                envelope.reply.refuse(ActorGone(box.name, reason))
            else:
                self.bury(box.name, envelope.message, reason)
        for watcher in box.take_watchers():
            watcher.signal(Down(box.name, reason))
