"""From a signal to the end, each step with a deadline.

    first signal     no new work; what runs may finish            at most `drain`
    then             everyone is told to stop, in reverse order   at most `grace`
    second signal    everything is cancelled at once
    no end by then   the watchdog, outside Trio, ends the process

The signal handler does two things in the very moment of the signal: it arms the watchdog, which
works even if Trio never runs again, and it posts the news to Trio.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import msgspec
import trio

from hermes_actors.journal import Journal
from supervisors.spec import Running
from supervisors.watchdog import Watchdog

SIGNALS = (signal.SIGTERM, signal.SIGINT)
_MARGIN = 5.0


class Deadlines(msgspec.Struct, frozen=True):
    """How long the two steps of an orderly end may take."""

    drain: float = 10.0
    grace: float = 5.0

    @property
    def total(self) -> float:
        """After this the watchdog strikes."""
        return self.drain + self.grace + _MARGIN


class Shutdown:
    """Ends a tree when it is told to. Use one per run."""

    def __init__(
        self,
        root: Running,
        watchdog: Watchdog,
        journal: Journal,
        deadlines: Deadlines,
        announce: Callable[[str], None] = lambda reason: None,
    ) -> None:
        self._root, self._watchdog, self._journal = root, watchdog, journal
        self._deadlines, self._announce = deadlines, announce
        self._asked = trio.Event()
        self.everything = trio.CancelScope()
        self.reason: str | None = None
        self.cut = False

    def begin(self, reason: str) -> None:
        """Ask for the end, once for an orderly one and once more to cut."""
        if self.reason is None:
            self.reason = reason
            self._journal.note("gateway.stopping", reason=reason, drain=self._deadlines.drain)
            self._announce(reason)
            self._asked.set()
        else:
            self._cut(f"{reason} again")

    async def see_through(self) -> None:
        """Wait to be asked, then push on step by step. Run it beside the tree."""
        await self._asked.wait()
        reason = self.reason or "asked to"
        self._root.drain(reason)
        await trio.sleep(self._deadlines.drain)
        self._journal.note("gateway.drain_over", after=self._deadlines.drain)
        self._root.stop(reason)
        await trio.sleep(self._deadlines.grace)
        self._cut(f"not over {self._deadlines.grace:g} s after the drain")

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Hear SIGTERM and SIGINT for the duration of the block."""
        token = trio.lowlevel.current_trio_token()

        def hear(number: int, _frame: FrameType | None) -> None:
            name = signal.Signals(number).name
            self._watchdog.arm(
                self._deadlines.total, f"no end {self._deadlines.total:g} s after {name}"
            )
            token.run_sync_soon(self.begin, name)

        before = {each: signal.signal(each, hear) for each in SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _cut(self, why: str) -> None:
        if not self.cut:
            self.cut = True
            self._watchdog.arm(self._deadlines.grace + _MARGIN, f"no end after a cut ({why})")
            self._journal.note("gateway.cut", reason=why)
            self.everything.cancel(why)
