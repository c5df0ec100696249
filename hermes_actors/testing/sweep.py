"""Cancel a scenario at every step it takes, and check each time that all is well.

Whether a stop is handled well at *one* moment is easy to test. That it is at *every* moment is
not, because the dangerous moments are those that nobody thought of. So we do not choose: the
scenario is played again and again on virtual time, and the k-th time it is cut before its k-th
step, until it ends before there is a k-th step. Trio's own dice are loaded by a seed, so a
failure can be played again exactly.

Three ways to cut are tried. `turn` calls what the scenario registered with `on_stop`: the product's
own stop. `outer` cancels a scope around the whole scenario: a shutdown. `both` does one and the
other in the same step.
"""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import get_args

import trio

from hermes_actors.testing.census import living_tasks, take_census
from hermes_actors.testing.invariants import check
from hermes_actors.testing.stage import Stage as Stage
from hermes_actors.testing.strike import Limits as Limits
from hermes_actors.testing.sweep_report import Failure as Failure
from hermes_actors.testing.sweep_report import Mode, Trouble
from hermes_actors.testing.sweep_report import SweepReport as SweepReport
from hermes_actors.testing.sweep_report import Take as Take
from hermes_actors.testing.trio_internals import seeded

Scenario = Callable[[Stage], Awaitable[object]]
Verify = Callable[[Stage], object]
MODES: tuple[Mode, ...] = ("turn", "outer", "both")
USUAL_LIMITS = Limits()


def cancel_at_every_step(
    scenario: Scenario,
    *,
    modes: Iterable[Mode] = MODES,
    seeds: Iterable[int] = (0,),
    limit: int = 10_000,
    max_failures: int = 25,
    verify: Verify | None = None,
    limits: Limits = USUAL_LIMITS,
) -> SweepReport:
    """Play `scenario` undisturbed, then cut at its first step, its second, and so on.

    After each run the invariants must hold on `stage.log`, which is complete then; nothing may
    be left alive; and `verify(stage)`, given here or as a method of the scenario, must not
    raise. Call it from an ordinary `def test_…`: it starts Trio itself. `limit` is the last step
    that is tried; after `max_failures` the sweep ends, for they are usually one bug.
    """
    report, wanted, dice = SweepReport(), _known(modes), tuple(seeds)
    if not wanted or not dice:
        raise ValueError("a sweep without modes or without seeds tries nothing")
    theatre = _Theatre(scenario, verify, limits)
    for seed in dice:
        if not theatre.rehearse(seed, report):
            continue
        for mode in wanted:
            for take in theatre.takes(mode, seed, limit, report):
                report.add(take)
                if len(report.failures) >= max_failures:
                    report.unfinished.append(f"given up after {len(report.failures)} failures")
                    return report
    return report


def replay(
    scenario: Scenario,
    mode: Mode,
    step: int,
    seed: int = 0,
    *,
    verify: Verify | None = None,
    limits: Limits = USUAL_LIMITS,
) -> Take:
    """Play one run of a sweep again; `take.log.lines()` shows what happened in it."""
    return _Theatre(scenario, verify, limits).play(mode, step, seed)


class _Theatre:
    """Plays one scenario as often as it is asked to."""

    def __init__(self, scenario: Scenario, verify: Verify | None, limits: Limits) -> None:
        if trio.lowlevel.in_trio_run():
            raise RuntimeError("a sweep starts Trio itself: call it from a plain `def test_…`")
        self._scenario, self._limits = scenario, limits
        self._verify: Verify | None = verify or getattr(scenario, "verify", None)

    def rehearse(self, seed: int, report: SweepReport) -> bool:
        """Two undisturbed runs: they must be fine, and they must be the same."""
        first, again = self.play("none", 0, seed), self.play("none", 0, seed)
        report.add(first)
        if not first.failures and _shape(first) != _shape(again):
            why = "two runs with this seed were not the same, so no step can be named"
            report.failures.append(Failure("none", 0, seed, "determinism", why))
            return False
        return not first.failures

    def takes(self, mode: Mode, seed: int, limit: int, report: SweepReport) -> Iterator[Take]:
        """Cut at step 1, 2, … until a run ends before it can be cut."""
        for step in itertools.count(1):
            if step > limit:
                report.unfinished.append(f"mode={mode} seed={seed}: limit of {limit} steps")
                return
            take = self.play(mode, step, seed)
            yield take
            if not take.fired:
                return

    def play(self, mode: Mode, step: int, seed: int) -> Take:
        """One run."""
        stage = Stage(mode, step, seed, self._limits)
        crash, strike = self._run(stage), stage.strike
        failures = tuple(
            Failure(mode, step, seed, trouble, explanation, strike.stood, tuple(strike.cut))
            for trouble, explanation in self._troubles(stage, crash)
        )
        return Take(strike.fired, strike.counted, stage.log, failures)

    def _run(self, stage: Stage) -> BaseException | None:
        strike = stage.strike
        try:
            with seeded(stage.seed):
                trio.run(self._perform, stage, clock=strike.clock, instruments=[strike])
        # Border to the scenario: what it raises becomes a failure. The run is over by now, so a
        # `Cancelled` that arrives here has no scope left that could be waiting for it.
        except BaseException as error:  # noqa: ASYNC103
            if _is_not_ours(error):
                raise
            return error  # noqa: ASYNC104
        return None

    async def _perform(self, stage: Stage) -> None:
        task = stage.strike.main = trio.lowlevel.current_task()
        task.name = "the scenario"
        stage.journal.note("census", moment="start", of="scenario", **take_census())
        try:
            with stage.strike.outer:
                await self._scenario(stage)
        finally:
            stage.strike.armed = False
            stage.journal.note(
                "census", moment="end", of="scenario", alive=living_tasks(), **take_census()
            )

    def _troubles(self, stage: Stage, crash: BaseException | None) -> Iterator[tuple[Trouble, str]]:
        strike = stage.strike
        if strike.hang is not None:
            # What follows a rescue by force says nothing about the scenario.
            yield "hang", strike.hang
            return
        if strike.error is not None:
            yield "stop", f"the stop raised {strike.error!r}"
        if crash is not None:
            yield "crash", "".join(traceback.format_exception(crash))
        elif not strike.counted:
            why = "takes no step after" if strike.ever_armed else "never called"
            yield "scenario", f"it {why} stage.arm(), so there is no step to cut at"
        for violation in check(stage.log):
            yield "invariant", str(violation)
        yield from self._objections(stage)

    def _objections(self, stage: Stage) -> Iterator[tuple[Trouble, str]]:
        if self._verify is None:
            return
        try:
            self._verify(stage)
        except Exception as error:  # noqa: BLE001  border to the scenario: becomes a failure
            yield "verify", f"{type(error).__name__}: {error}"


def _is_not_ours(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(_is_not_ours(each) for each in error.exceptions)
    return isinstance(error, KeyboardInterrupt | SystemExit)


def _shape(take: Take) -> tuple[int, list[str]]:
    return take.steps, take.log.kinds()


def _known(modes: Iterable[Mode]) -> tuple[Mode, ...]:
    wanted = tuple(modes)
    for mode in wanted:
        if mode not in get_args(Mode):
            raise ValueError(f"mode '{mode}' is not known; use {', '.join(MODES)}")
    return wanted
