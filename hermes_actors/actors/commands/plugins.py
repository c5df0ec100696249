"""Commands that plugins bring. Foreign code: it has a time limit, and its failures are told."""

from __future__ import annotations

import inspect
from typing import Any

import trio

from hermes_actors.actors.commands.asked import Asked
from hermes_actors.hooks.contributions import PluginCommand

WITHIN = 30.0
THREADS = 4
_threads: trio.lowlevel.RunVar[trio.CapacityLimiter] = trio.lowlevel.RunVar("plugin commands")


async def run(asked: Asked) -> str:
    """Call the handler with what follows the name; its text is the answer.

    A plain function runs in a thread, which nobody can end: when its time is up it is left alone,
    and keeps its place among a few until it comes back.
    """
    name = asked.command.name
    brought = asked.office.plugins.get(name)
    if brought is None:
        return f"/{name} is known but nobody here carries it out."
    with trio.move_on_after(WITHIN):
        try:
            said = await _called(brought, asked.argument)
        except Exception as failure:  # noqa: BLE001  border to foreign code: told and recorded
            asked.house.journal.note("command.failed", command=name, error=repr(failure))
            return f"/{name} failed: {type(failure).__name__}: {failure}"
        return "Done." if said is None else str(said)
    return f"/{name} took longer than {WITHIN:g} seconds and was given up."


async def _called(brought: PluginCommand, argument: str) -> Any:
    if inspect.iscoroutinefunction(brought.handler):
        return await brought.handler(argument)
    return await trio.to_thread.run_sync(
        brought.handler, argument, limiter=_limiter(), abandon_on_cancel=True
    )


def _limiter() -> trio.CapacityLimiter:
    try:
        return _threads.get()
    except LookupError:
        _threads.set(trio.CapacityLimiter(THREADS))
        return _threads.get()
