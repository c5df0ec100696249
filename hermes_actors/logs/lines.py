"""Writes lines from a thread, so that a reader who stops reading cannot stop the gateway.

A log that goes into a pipe blocks when the pipe is full. If that happened in Trio's thread, all
conversations would stand still because somebody pressed Ctrl-S in a terminal. Here lines wait in
a bounded queue; when that is full, new ones are counted instead of kept, and the count is written
as soon as there is room again.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TextIO

GATHER = 0.01
"""Seconds in which lines gather: waking the thread for each costs more than writing it."""


class LineWriter:
    """Queues lines for one stream. `write` never waits for the stream."""

    def __init__(self, stream: TextIO, *, most: int = 10_000) -> None:
        self._stream, self._most = stream, most
        self._lines: deque[str] = deque()
        self._changed = threading.Condition()
        self._hurry = threading.Event()
        self._lost = 0
        self._busy = self._closed = self._broken = False
        self._thread = threading.Thread(target=self._work, name="log writer", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Add one line, without its end. Safe from every thread."""
        with self._changed:
            if len(self._lines) >= self._most:
                self._lost += 1
                return
            self._lines.append(line)
            if len(self._lines) == 1:
                self._changed.notify_all()

    def flush(self, patience: float = 1.0) -> bool:
        """Wait until everything is written; False if the stream takes longer than that."""
        self._hurry.set()
        with self._changed:
            done = self._changed.wait_for(self._is_done, patience)
        self._hurry.clear()
        return done

    def close(self, patience: float = 1.0) -> None:
        """Write what is there, within `patience` seconds, and end the thread."""
        self.flush(patience)
        self._hurry.set()
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _is_done(self) -> bool:
        return self._broken or (not self._lines and not self._lost and not self._busy)

    # In the thread -------------------------------------------------------------------------

    def _work(self) -> None:
        while (text := self._next()) is not None:
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):  # nobody reads any more, and nobody could be told
                self._give_up()
                return
            self._written()

    def _next(self) -> str | None:
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._lost or self._closed)
        self._hurry.wait(GATHER)
        with self._changed:
            if not self._lines and not self._lost:
                return None
            lines, lost = list(self._lines), self._lost
            self._lines.clear()
            self._lost, self._busy = 0, True
        if lost:
            lines.append(f"({lost} log lines were lost because nobody read them in time)")
        return "\n".join(lines) + "\n"

    def _written(self) -> None:
        with self._changed:
            self._busy = False
            self._changed.notify_all()

    def _give_up(self) -> None:
        with self._changed:
            self._broken = True
            self._changed.notify_all()
