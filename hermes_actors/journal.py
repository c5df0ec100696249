"""One line per transition: the only record that logs, `ps` and the invariant checker read.

The journal is written where a state changes and nowhere else. It never waits, never refuses and
never fails its writer: a reader that raises is dropped, and the drop is itself recorded. A reader
may write, too, and does not hear of what is written while it reads. What an entry may contain is
ids, names, counts and reasons. Words that people wrote stay out.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

Reader = Callable[["Entry"], None]


class Entry(msgspec.Struct, frozen=True):
    """A transition: what happened (`kind`), to whom (`data`), when, and after what (`number`)."""

    number: int
    at: float
    kind: str
    data: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.data[key]


class Journal:
    """Numbers transitions and hands each to every reader, in the writer's own step.

    >>> journal = Journal(remember=100)
    >>> journal.note("run.started", run="r1", session="s1")
    >>> [entry.kind for entry in journal.recent()]
    ['run.started']
    """

    def __init__(
        self, *readers: Reader, remember: int = 1024, clock: Callable[[], float] = time.time
    ) -> None:
        self._readers = list(readers)
        self._ring: deque[Entry] = deque(maxlen=remember)
        self._clock = clock
        self._written = 0
        self._reading: list[Reader] = []

    def note(self, kind: str, **data: Any) -> None:
        """Record one transition. Safe in `finally` blocks and signal handlers of actors."""
        self._written += 1
        entry = Entry(self._written, self._clock(), kind, data)
        self._ring.append(entry)
        for reader in tuple(self._readers):
            if reader not in self._reading:
                self._hand(entry, reader)

    def subscribe(self, reader: Reader) -> Callable[[], None]:
        """Call `reader` with each new entry; returns the function that ends it."""
        self._readers.append(reader)
        return lambda: self._readers.remove(reader) if reader in self._readers else None

    def recent(self) -> list[Entry]:
        """The last entries, oldest first."""
        return list(self._ring)

    def _hand(self, entry: Entry, reader: Reader) -> None:
        self._reading.append(reader)
        try:
            reader(entry)
        except Exception as failure:  # noqa: BLE001  border to foreign code: reported below
            self._drop(reader, failure)
        finally:
            self._reading.pop()

    def _drop(self, reader: Reader, failure: Exception) -> None:
        if reader in self._readers:  # it may have left by itself, or been dropped further in
            self._readers.remove(reader)
            self.note("journal.reader_dropped", reader=_name(reader), error=type(failure).__name__)


def _name(reader: Reader) -> str:
    return getattr(reader, "__qualname__", type(reader).__name__)
