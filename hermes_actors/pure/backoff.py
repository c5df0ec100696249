"""How long to wait before the next try: exponential, capped, with full jitter.

Full jitter (anything between zero and the ceiling) keeps a thousand clients that lost the same
server from coming back in step. The dice are handed in, so a test can hold them still.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Backoff(msgspec.Struct, frozen=True):
    """The ceiling doubles from `first` to `most` seconds."""

    first: float = 1.0
    most: float = 60.0

    def ceiling(self, attempt: int) -> float:
        """The longest wait before try number `attempt`, counted from zero."""
        return min(self.most, self.first * 2.0 ** min(attempt, 64))

    def delay(self, attempt: int, dice: Callable[[], float]) -> float:
        """A wait in `[0, ceiling)`; `dice` gives a number in `[0, 1)`."""
        return self.ceiling(attempt) * dice()
