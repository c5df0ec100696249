"""A broken promise, said in a sentence."""

from __future__ import annotations

import msgspec

from hermes_actors.journal import Entry

NEW_PROCESS = "gateway.started"


class Violation(msgspec.Struct, frozen=True):
    """Which invariant was broken, how, and the numbers of the entries that show it."""

    invariant: str
    sentence: str
    entries: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.invariant}: {self.sentence} ({_named(self.entries)})"


def broken(invariant: str, sentence: str, *entries: Entry) -> Violation:
    """A violation that points at these entries."""
    return Violation(invariant, sentence, tuple(entry.number for entry in entries))


def _named(numbers: tuple[int, ...]) -> str:
    if not numbers:
        return "no entry"
    word = "entry" if len(numbers) == 1 else "entries"
    return f"{word} {', '.join(map(str, numbers))}"
