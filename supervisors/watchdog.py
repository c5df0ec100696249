"""The last resort: a thread outside Trio that ends a process which cannot end itself.

Cancellation is a request. Code that computes for ever, swallows `Cancelled` or waits in a shield
without a deadline does not hear it, and then no task of ours can help, because tasks are what is
stuck. So this is a thread. It sleeps until it is armed, and if it is not disarmed in time it
writes down where everybody stands and ends the process.

Should even this thread be unable to run (foreign code that never gives Python's lock back), the
interpreter's own timer, which needs no lock, does the same a little later.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from hermes_actors.errors import EXIT_TRY_AGAIN

_LAST_RESORT = 5.0


class Watchdog:
    """Arm it when the end begins, disarm it when the end is reached."""

    def __init__(
        self,
        write_tasks: Callable[[TextIO], None],
        end: Callable[[int], object] = os._exit,
    ) -> None:
        self._write_tasks, self._end = write_tasks, end
        self._changed = threading.Condition()
        self._due: float | None = None
        self.why = ""
        self._closed = False
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def arm(self, seconds: float, why: str) -> None:
        """End the process in so many seconds, unless disarmed. An earlier due time stands.

        Safe in a signal handler's Python half: the lock is held for an instant only.
        """
        due = time.monotonic() + seconds
        with self._changed:
            if self._due is None or due < self._due:
                self._due, self.why = due, why
                faulthandler.dump_traceback_later(seconds + _LAST_RESORT, exit=True)
                self._changed.notify()

    def close(self) -> None:
        """The process ends by itself; nothing more to watch."""
        with self._changed:
            self._closed = True
            faulthandler.cancel_dump_traceback_later()
            self._changed.notify()
        self._thread.join(timeout=1.0)

    def _watch(self) -> None:
        with self._changed:
            while not self._closed and not self._is_due():
                self._changed.wait(self._patience())
            if self._closed:
                return
        self._strike()

    def _is_due(self) -> bool:
        return self._due is not None and time.monotonic() >= self._due

    def _patience(self) -> float | None:
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def _strike(self) -> None:
        # Straight to the stream: the log's own thread may be what is stuck.
        out = sys.stderr
        out.write(f"watchdog: {self.why}; ending the process. Where everyone stands:\n")
        try:
            self._write_tasks(out)
        except Exception as failure:  # noqa: BLE001  the tasks are read while they may move
            out.write(f"watchdog: the tasks could not be read: {failure!r}\n")
        out.flush()
        faulthandler.dump_traceback(file=out, all_threads=True)
        self._end(EXIT_TRY_AGAIN)
