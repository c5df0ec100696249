"""What a sweep found, in words that lead back to the line and the run."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.sites import Site

Mode = Literal["none", "turn", "outer", "both"]
Trouble = Literal["invariant", "crash", "hang", "verify", "stop", "scenario", "determinism"]


class Failure(msgspec.Struct, frozen=True):
    """One thing that went wrong, where the scenario was cut, and how to see it again.

    `stood` is where the task whose step it was stood; `cut` is each line at which `Cancelled`
    was then raised, in order. A clean-up that was itself cut is the last of them.
    """

    mode: Mode
    step: int
    seed: int
    trouble: Trouble
    explanation: str
    stood: Site | None = None
    cut: tuple[Site, ...] = ()

    def __str__(self) -> str:
        lines = [
            f"{self.trouble}, mode={self.mode} step={self.step} seed={self.seed}",
            *(f"  {line}" for line in self.explanation.splitlines()),
        ]
        if self.stood is not None:
            lines.append(f"  struck at {self.stood}")
        cut = dict.fromkeys(f"  cancelled at {site}" for site in self.cut)
        return "\n".join([*lines, *cut])


class Take(msgspec.Struct, frozen=True):
    """One run of a scenario: how many steps were counted, what happened, what was wrong."""

    fired: bool
    steps: int
    log: EventLog
    failures: tuple[Failure, ...]


class SweepReport(msgspec.Struct):
    """All runs of one sweep. `assert report.ok, str(report)` is the usual last line of a test.

    `str` because pytest shortens everything else, and the lines to look at are in there.
    """

    runs: int = 0
    steps: int = 0
    failures: list[Failure] = []
    unfinished: list[str] = []

    @property
    def ok(self) -> bool:
        """No run failed. A sweep that met its `limit` may be ok and yet not exhaustive."""
        return not self.failures

    @property
    def exhaustive(self) -> bool:
        """Every step of every mode and seed was tried."""
        return not self.unfinished

    def add(self, take: Take) -> None:
        """Count one run and keep its failures."""
        self.runs += 1
        self.steps = max(self.steps, take.steps)
        self.failures.extend(take.failures)

    def __str__(self) -> str:
        unfinished = (f"not finished: {why}" for why in self.unfinished)
        return "\n".join([self._head(), *map(str, self.failures), *unfinished])

    def __repr__(self) -> str:
        first = "".join(f"; first: {each}" for each in self.failures[:1])
        return f"<SweepReport of {self._head()}{first}>"

    def _head(self) -> str:
        return f"{self.runs} runs, up to {self.steps} steps, {len(self.failures)} failures"
