"""Ending what waits inside shields of its own, when there is nowhere left to leave it behind.

Trio has no public way to see which scopes a task is in, so we look at its private record of them
and take the shields down. If another version of Trio keeps no such record, nothing is done, and the
handler stays until the process ends. Two kinds of code stay in any case: what waits for a thread of
its own that never ends, and children that swallow every single cancellation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import trio

from hermes_actors.hooks.leash import MAY_SWALLOW

# Code that puts up a new shield each time must meet this often enough to be let go by its leash.
ATTEMPTS = 10 * MAY_SWALLOW
PATIENCE = 1.0


async def end_all_in(nursery: trio.Nursery) -> None:
    """Cancel every task in a nursery through all of its shields, until they are gone or it is
    clear that they will not go. What is not in the nursery is not touched."""
    with trio.move_on_after(PATIENCE, shield=True):
        for _ in range(ATTEMPTS):
            if not nursery.child_tasks:
                return
            for task in tuple(nursery.child_tasks):
                break_shields(task, nursery.cancel_scope)
            await trio.lowlevel.checkpoint()


def break_shields(task: trio.lowlevel.Task, up_to: trio.CancelScope) -> None:
    """Cancel all scopes, shielded or not, that a task and its descendants have inside `up_to`."""
    for scope in _scopes_inside(task, up_to):
        scope.shield = False
        scope.cancel("time is up, and shields do not help")
    for nursery in task.child_nurseries:
        for child in tuple(nursery.child_tasks):
            break_shields(child, up_to)


def _scopes_inside(task: trio.lowlevel.Task, up_to: trio.CancelScope) -> Iterator[trio.CancelScope]:
    inside: list[trio.CancelScope] = []
    status: Any = getattr(task, "_cancel_status", None)
    while status is not None:
        if status._scope is up_to:
            return iter(inside)
        inside.append(status._scope)
        status = status.parent
    # Not inside at all, as it seems: then nothing here is ours to cancel.
    return iter(())
