"""The instrument of a sweep: counts steps, strikes at one of them, and notices a hang.

A step is one task running from one `await` to the next; between two steps anything may be
cancelled, and inside one nothing can. So trying every step is trying every moment that exists.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import trio
from trio.testing import MockClock

from hermes_actors.testing.census import living_descendants
from hermes_actors.testing.sites import Site, site_of
from hermes_actors.testing.trio_internals import (
    abandon,
    cut_loose,
    is_being_cancelled,
    throw_instead,
)

MOST_SITES = 12
"""How many of the lines at which `Cancelled` was raised are kept: a loop would fill any list."""


class StillHanging(BaseException):
    """What a task gets instead of a `Cancelled` that it does not obey."""


class Limits(msgspec.Struct, frozen=True):
    """When a run counts as hung: real seconds without a step, virtual seconds, steps in all."""

    patience: float = 1.0
    horizon: float = 3600.0
    most_steps: int = 50_000


class Strike(trio.abc.Instrument):
    """Calls `fire` before the given step; steps count from `arm` to `disarm`."""

    def __init__(self, step: int, fire: Callable[[], None], limits: Limits) -> None:
        self.clock = MockClock(autojump_threshold=0)
        self.outer = trio.CancelScope()
        self.main: trio.lowlevel.Task | None = None
        self.armed = self.ever_armed = self.fired = False
        self.counted = 0
        self.stood: Site | None = None
        self.cut: list[Site] = []
        self.hang: str | None = None
        self.error: Exception | None = None
        self._step, self._fire, self._limits = step, fire, limits
        self._until, self._last_step = limits.horizon, limits.most_steps
        self._taken = 0
        self._rescues = 0
        self._seen: tuple[int, float] = (-1, -1.0)
        self._still_since = 0.0

    def arm(self) -> None:
        """Begin to count."""
        self.armed = self.ever_armed = True

    @property
    def abandoned(self) -> bool:
        """The run was ended by force, and its tasks with it."""
        return self._rescues > 2

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._taken += 1
        if self._taken > self._last_step:
            self._last_step += self._limits.most_steps
            self._rescue(f"{self._taken - 1} steps were not enough")
        if self._rescues > 1:
            throw_instead(task, StillHanging(self.hang))
        elif self.fired and self.armed and self.hang is None and is_being_cancelled(task):
            self._keep(task)
        if self.armed:
            self.counted += 1
            if self.counted == self._step:
                self._strike(task)

    def _strike(self, task: trio.lowlevel.Task) -> None:
        self.fired, self.stood = True, site_of(task)
        try:
            self._fire()
        except Exception as error:  # noqa: BLE001  border to the scenario: becomes a failure
            self.error = error

    def _keep(self, task: trio.lowlevel.Task) -> None:
        if len(self.cut) < MOST_SITES:
            self.cut.append(site_of(task))

    def before_io_wait(self, timeout: float) -> None:
        if self.abandoned:
            return
        seen = self._taken, self.clock.current_time()
        if seen != self._seen:
            self._seen, self._still_since = seen, time.perf_counter()
        elif time.perf_counter() - self._still_since > self._limits.patience:
            self._still_since = time.perf_counter()
            self._rescue("nothing moves any more")
        if seen[1] > self._until:
            self._until += self._limits.horizon
            self._rescue(f"not over after {self._limits.horizon:g} virtual seconds")

    def _rescue(self, why: str) -> None:
        """Cancel through every shield; then throw what nobody catches; then end the whole run."""
        self._rescues += 1
        if self.abandoned:
            abandon(self.clock, StillHanging(self.hang))
            return
        tasks = [] if self.main is None else living_descendants(self.main)
        waiting = [f"waits at {site_of(task)}" for task in tasks]
        self.hang = self.hang or "\n".join([why, *waiting])
        for task in tasks:
            cut_loose(task, self.outer)
