"""The streams that are open now, so that a gateway which goes down can still say so in each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adapters.http.following import Following


class OpenStreams:
    """Everything that a response follows at the moment."""

    def __init__(self) -> None:
        self._open: set[Following] = set()

    @contextmanager
    def hold(self, following: Following) -> Iterator[None]:
        """While a response shows it; afterwards it is closed."""
        self._open.add(following)
        try:
            yield
        finally:
            self._open.discard(following)
            following.close()

    def last_call(self) -> None:
        """End them: each tells its reader why. The runs are not touched."""
        for following in tuple(self._open):
            following.close()
