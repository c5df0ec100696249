"""Keeps the home in which hook handlers run."""

from __future__ import annotations

from hermes_actors.hooks import HookBus
from hermes_actors.runtime import Actor


class HookHost(Actor[object]):
    """Lives before everyone who fires a hook and after them, so that no handler is homeless."""

    def __init__(self, bus: HookBus) -> None:
        self._bus = bus

    async def started(self) -> None:
        """Open the home."""
        self.spawn(self._bus.run, name="hooks")
