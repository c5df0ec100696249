"""A nursery behind a shield, so that a cancellation reaches the children only through their
supervisor: one by one and in order, not all in one moment."""

from __future__ import annotations

import trio


class Shelter:
    """Start `keep` as a task of the supervisor's own nursery; it hands out the nursery inside.

    Every way out of the supervisor must pass `close`, for that gives the shield its deadline.
    """

    def __init__(self) -> None:
        self._closed = trio.Event()
        self._shield = trio.CancelScope(shield=True)
        self._nursery: trio.Nursery | None = None

    async def keep(  # noqa: ASYNC114  started in one place, in the supervisor
        self, *, task_status: trio.TaskStatus[trio.Nursery]
    ) -> None:
        """Stay until closed. Whoever is cancelled before the start does not get behind it."""
        await trio.lowlevel.checkpoint_if_cancelled()
        with self._shield:
            async with trio.open_nursery() as self._nursery:
                task_status.started(self._nursery)
                await self._closed.wait()

    def close(self, patience: float) -> None:
        """Cut off whoever is left, with everything below; the shield falls after `patience`."""
        self._closed.set()
        self._shield.deadline = trio.current_time() + patience
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel("the supervisor has ended")
