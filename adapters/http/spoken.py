"""From happenings to the words that a client reads, in order and with their paragraphs."""

from __future__ import annotations

from collections.abc import Iterable

from hermes_actors.happenings import RunEnded, Seen, SegmentEnded, Words

NO_WORDS = "The run ended without words."


class Spoken:
    """Everything that was said in one run so far."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._paragraph = False

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._pieces)

    def hear(self, seen: Iterable[Seen]) -> str:
        """Take in what has happened; the new words of it, which may be none.

        No run ends in silence: one that has said nothing says its last words now.
        """
        before = len(self._pieces)
        for what in seen:
            self._pieces.append(self._piece(what))
        return "".join(self._pieces[before:])

    def _piece(self, what: Seen) -> str:
        match what:
            case Words(text=text):
                begins = "\n\n" if self._paragraph and not text.startswith("\n") else ""
                self._paragraph = False
                return begins + text
            case SegmentEnded():
                self._paragraph = True
            case RunEnded(text=text) if not self.text.strip():
                return text or NO_WORDS
        return ""
