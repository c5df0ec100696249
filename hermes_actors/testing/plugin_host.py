"""A plugin, registered as a gateway would, for the length of a `with` block."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import trio

from hermes_actors.hooks.bus import HookBus
from hermes_actors.hooks.plugins import Catalogue, Register
from hermes_actors.journal import Journal
from hermes_actors.runtime import Ended, How
from hermes_actors.testing.alive import running


class Installed:
    """What a plugin has brought: its handlers hear `bus`, the rest is in `catalogue`."""

    def __init__(self, journal: Journal) -> None:
        self.bus = HookBus(journal)
        self.catalogue = Catalogue(self.bus)

    def tool(self, name: str) -> Callable[..., Any]:
        """The function behind a tool: call it with the arguments that a model would give."""
        return self.catalogue.tools[name].handler

    def command(self, name: str) -> Callable[..., Any]:
        """The function behind a slash command: call it with what follows the name."""
        return self.catalogue.commands[name].handler


@asynccontextmanager
async def installed(
    register: Register,
    settings: Mapping[str, Any] | None = None,
    *,
    owner: str = "plugin",
    journal: Journal | None = None,
) -> AsyncIterator[Installed]:
    """Register a plugin; a mistake in it raises here, as it would keep a gateway from starting.

    In the block, fire hooks with `plugin.bus.fire(AgentLoopStopped(…))`, and ask policies with
    `decide`, transformations with `transform`, selections with `select`.
    """
    plugin = Installed(journal or Journal())
    plugin.catalogue.install(owner, register, settings or {})
    async with running(_Host(plugin.bus)):
        yield plugin


class _Host:
    """Keeps the bus at home for handlers that do not end in time."""

    def __init__(self, bus: HookBus) -> None:
        self._bus, self._scope = bus, trio.CancelScope()

    async def run(self, started: Callable[[], None] = lambda: None) -> Ended:
        with self._scope:
            started()
            await self._bus.run()
        return Ended(How.STOPPED, "end of the block")

    def stop(self, reason: str) -> None:
        self._scope.cancel(reason)
