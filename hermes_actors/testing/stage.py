"""What a scenario is given in each run of a sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hermes_actors.testing.event_log import EventLog, recorded
from hermes_actors.testing.strike import Limits, Strike
from hermes_actors.testing.sweep_report import Mode


class Stage:
    """The journal to write to, and the two things a sweep must be told: when, and how to stop.

    A scenario makes everything else anew in each run; two runs share nothing.
    """

    def __init__(self, mode: Mode, step: int, seed: int, limits: Limits) -> None:
        self.mode, self.step, self.seed = mode, step, seed
        self.log = EventLog()
        self.journal = recorded(self.log)
        self.strike = Strike(step, self._fire, limits)
        self.world: Any = None
        """Anything that the scenario wants its `verify` to see."""
        self._stop: Callable[[], object] | None = None

    def arm(self) -> None:
        """Begin to count steps here: what came before is preparation, and is never cut."""
        self.strike.arm()

    def on_stop(self, stop: Callable[[], object]) -> None:
        """Say what a stop is. It is called between two steps, so it must not wait."""
        self._stop = stop

    @property
    def struck(self) -> bool:
        """Whether this run was cut; False in the runs that show how it goes undisturbed."""
        return self.strike.fired

    def _fire(self) -> None:
        try:
            if self.mode in ("turn", "both"):
                self._call_stop()
        finally:
            if self.mode in ("outer", "both"):
                self.strike.outer.cancel("cut by the sweep")

    def _call_stop(self) -> None:
        if self._stop is None:
            raise LookupError("the scenario has not said what a stop is: stage.on_stop(…)")
        self._stop()
