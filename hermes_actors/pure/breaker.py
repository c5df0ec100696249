"""When to stop asking someone who keeps failing, and when to ask once more.

    closed --[limit failures in a row]--> open --[cool_down]--> one trial --success--> closed
                                           ^                        |
                                           +--------failure---------+

A trial that neither succeeds nor fails (whoever asked was cancelled) is withdrawn: the next
question is the trial. Calls that began before the breaker opened prove nothing about the time
after it, so each call carries the era in which it was admitted. The breaker is told the time
and never asks for it.
"""

from __future__ import annotations


class Breaker:
    """Counts failures in a row and says whether the next call may be made.

    Every admitted call ends in exactly one of `succeed`, `fail` and `withdraw`.
    """

    def __init__(self, limit: int = 5, cool_down: float = 60.0) -> None:
        self.limit, self.cool_down = limit, cool_down
        self.failures = 0
        self._era = 0
        self._open_until: float | None = None
        self._on_trial = False

    @property
    def closed(self) -> bool:
        """True while calls are made without any restriction."""
        return self._open_until is None

    def admit(self, now: float) -> int | None:
        """The era to report back with, or None: no call now. While open, one trial at a time."""
        if self._open_until is None:
            return self._era
        if self._on_trial or now < self._open_until:
            return None
        self._on_trial = True
        return self._era

    def succeed(self, era: int) -> bool:
        """A call came back well; True when this closes an open breaker."""
        if era != self._era:
            return False
        recovered, self._open_until = self._open_until is not None, None
        self.failures, self._on_trial = 0, False
        return recovered

    def fail(self, era: int, now: float) -> bool:
        """A call failed; True when this opens the breaker, or opens it again after a trial."""
        if era != self._era:
            return False
        self.failures += 1
        if self.failures < self.limit:
            return False
        self._era += 1
        self._open_until, self._on_trial = now + self.cool_down, False
        return True

    def withdraw(self, era: int) -> None:
        """A call was given up by whoever asked; it proves nothing."""
        if era == self._era:
            self._on_trial = False
