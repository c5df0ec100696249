from __future__ import annotations

import time
from collections import Counter

import pytest
import trio

from hermes_actors.testing import (
    Limits,
    Stage,
    SweepReport,
    cancel_at_every_step,
    replay,
    run_until_killed,
)
from tests.hermes_actors.testing import plays

HASTY = Limits(patience=0.05, most_steps=500)


def troubles(report: SweepReport) -> set[tuple[str, str]]:
    """Which trouble was found in which mode."""
    return {(failure.trouble, failure.mode) for failure in report.failures}


def explained(report: SweepReport) -> set[str]:
    return {failure.explanation for failure in report.failures}


def test_a_scenario_that_is_right_is_cut_at_every_step_in_three_modes_and_passes() -> None:
    report = cancel_at_every_step(plays.good)
    assert report.ok, str(report)
    assert report.exhaustive
    # Per mode one run for each step, and a last one that ends before it can be cut.
    assert report.steps == 6
    assert report.runs == 1 + 3 * (report.steps + 1)


def test_each_seed_is_swept_by_itself() -> None:
    together = cancel_at_every_step(plays.good, seeds=(1, 2))
    assert together.ok
    assert together.runs == sum(cancel_at_every_step(plays.good, seeds=(s,)).runs for s in (1, 2))


def test_a_missing_shield_is_found_by_a_shutdown_and_the_report_names_its_line() -> None:
    report = cancel_at_every_step(plays.no_shield)
    assert troubles(report) == {("invariant", "outer"), ("invariant", "both")}
    assert explained(report) == {
        "I1: message 'k' was accepted and never ended (entry 2)",
        "I3: run 'r' started and never ended (entry 3)",
    }
    assert {failure.step for failure in report.failures} == {1, 2, 3, 4, 5, 6}
    places = {site.source for failure in report.failures for site in failure.cut[-1:]}
    assert "await trio.sleep(0.1)  # planted: nothing protects this wait" in places
    assert "plays.py:" in str(report)


def test_a_wait_inside_a_double_is_told_as_the_line_that_called_it() -> None:
    report = cancel_at_every_step(plays.AsksADouble(), modes=["outer"])
    first = report.failures[0].stood
    assert first is not None
    assert first.source.startswith("await FakePlatform(delay=1).send(")
    assert repr(report).startswith(
        "<SweepReport of 4 runs, up to 3 steps, 2 failures; first: verif"
    )


def test_a_lost_reply_is_found_wherever_it_is_lost() -> None:
    report = cancel_at_every_step(plays.lost_reply)
    assert {mode for _, mode in troubles(report)} == {"turn", "outer", "both"}
    assert "I1: message 'k' was accepted and never ended (entry 2)" in explained(report)


def test_a_shield_without_a_deadline_is_a_hang_and_the_line_is_named() -> None:
    report = cancel_at_every_step(plays.no_deadline, max_failures=2, limits=HASTY)
    assert [failure.trouble for failure in report.failures] == ["hang", "hang"]
    why, place = report.failures[0].explanation.splitlines()
    assert why == "nothing moves any more"
    assert "math.inf)  # planted: a shield without an end" in place
    assert place.endswith("(task the scenario)")
    assert report.unfinished == ["given up after 2 failures"]


def test_a_hang_is_ended_as_gently_as_it_can_be() -> None:
    # Cancelled through its shield, the scenario still comes to its own end; by force it does not.
    assert replay(plays.no_deadline, "turn", 1, limits=HASTY).log.kinds()[-1] == "census"
    assert replay(plays.tireless, "turn", 1, limits=HASTY).log.kinds()[-1] == "census"
    assert replay(plays.deaf, "turn", 1, limits=HASTY).log.kinds() == ["census"]


def test_waiting_for_a_thread_is_no_hang() -> None:
    async def waits(stage: Stage) -> None:
        stage.arm()
        await trio.to_thread.run_sync(time.sleep, 0.02)

    assert replay(waits, "none", 0).failures == ()


def test_a_cancellation_that_is_swallowed_once_is_found_by_what_it_pretends() -> None:
    def verify(stage: Stage) -> None:
        assert not (stage.struck and stage.world.scope.cancel_called and stage.world.answered)

    report = cancel_at_every_step(plays.swallower, modes=["turn"], verify=verify)
    assert troubles(report) == {("verify", "turn")}


def test_a_cancellation_that_is_swallowed_for_ever_is_a_hang() -> None:
    report = cancel_at_every_step(plays.tireless, max_failures=1, limits=HASTY)
    assert report.failures[0].trouble == "hang"
    assert report.failures[0].explanation.startswith("500 steps were not enough\n")


@pytest.mark.parametrize("play", [plays.immortal, plays.deaf])
def test_even_a_task_that_nothing_can_end_ends_the_run_and_not_the_sweep(
    play: plays.Scenario,
) -> None:
    report = cancel_at_every_step(play, max_failures=2, limits=HASTY)
    assert {failure.trouble for failure in report.failures} == {"hang"}
    assert cancel_at_every_step(plays.good).ok


def test_waiting_beyond_the_horizon_is_a_hang_on_virtual_time() -> None:
    report = cancel_at_every_step(plays.restless, modes=["turn"], max_failures=1)
    assert report.failures[0].explanation.startswith("not over after 3600 virtual seconds\n")


def test_a_scenario_that_is_not_the_same_twice_is_refused_before_any_cut() -> None:
    report = cancel_at_every_step(plays.fickle)
    assert explained(report) == {
        "two runs with this seed were not the same, so no step can be named"
    }
    assert report.runs == 1


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (plays.unarmed, "it never called stage.arm(), so there is no step to cut at"),
        (plays.armed_too_late, "it takes no step after stage.arm(), so there is no step to cut at"),
    ],
)
def test_a_scenario_that_gives_nothing_to_cut_is_a_failure_and_not_a_pass(
    play: plays.Scenario, why: str
) -> None:
    report = cancel_at_every_step(play)
    assert [(f.trouble, f.mode, f.explanation) for f in report.failures] == [
        ("scenario", "none", why)
    ]


def test_what_verify_objects_to_is_a_failure() -> None:
    def verify(stage: Stage) -> None:
        if stage.struck:
            raise ValueError("I do not like to be cut")

    report = cancel_at_every_step(plays.good, modes=["outer"], verify=verify)
    assert explained(report) == {"ValueError: I do not like to be cut"}
    assert len(report.failures) == report.steps == 6


def test_a_scenario_can_bring_its_own_verify() -> None:
    report = cancel_at_every_step(plays.Critic(), modes=["outer"])
    assert explained(report) == {"ValueError: not even undisturbed"}
    assert report.runs == 1


def test_a_stop_that_raises_is_a_failure_and_in_both_modes_the_shutdown_follows_anyway() -> None:
    report = cancel_at_every_step(plays.broken_stop)
    assert troubles(report) == {("stop", "turn"), ("stop", "both")}
    assert explained(report) == {"the stop raised ValueError('no such session')"}


def test_a_scenario_must_say_what_a_stop_is_unless_only_shutdowns_are_tried() -> None:
    report = cancel_at_every_step(plays.never_said_how)
    assert troubles(report) == {("stop", "turn"), ("stop", "both")}
    assert "stage.on_stop(…)" in report.failures[0].explanation
    assert cancel_at_every_step(plays.never_said_how, modes=["outer"]).ok


def test_a_crash_is_told_with_its_traceback() -> None:
    report = cancel_at_every_step(plays.crashing, modes=["turn"])
    assert troubles(report) == {("crash", "turn")}
    assert 'raise LookupError("lost the thread")' in report.failures[0].explanation


def test_a_task_that_is_left_over_is_named() -> None:
    report = cancel_at_every_step(plays.leaking_task, modes=["turn"])
    assert troubles(report) == {("invariant", "turn")}
    assert all(
        "I8: tasks grew from" in each and "forgotten pump" in each for each in explained(report)
    )


def test_a_file_that_is_left_open_is_counted() -> None:
    report = cancel_at_every_step(plays.LeakingFile(), modes=["turn"])
    assert {each.split(" from ")[0] for each in explained(report)} == {"I8: fds grew"}


def test_a_limit_makes_the_sweep_say_that_it_is_not_exhaustive() -> None:
    report = cancel_at_every_step(plays.good, limit=2)
    assert report.ok
    assert not report.exhaustive
    assert report.unfinished == [
        f"mode={m} seed=0: limit of 2 steps" for m in ("turn", "outer", "both")
    ]
    assert "not finished: mode=turn seed=0: limit of 2 steps" in str(report)


def test_a_sweep_that_would_try_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="tries nothing"):
        cancel_at_every_step(plays.good, modes=[])
    with pytest.raises(ValueError, match="tries nothing"):
        cancel_at_every_step(plays.good, seeds=[])
    with pytest.raises(ValueError, match="mode 'inner' is not known; use turn, outer, both"):
        cancel_at_every_step(plays.good, modes=["inner"])  # type: ignore[list-item]


async def test_a_sweep_inside_a_run_says_where_it_belongs() -> None:
    await trio.lowlevel.checkpoint()
    with pytest.raises(RuntimeError, match="call it from a plain `def test_…`"):
        cancel_at_every_step(plays.good)


def test_ctrl_c_in_a_scenario_ends_the_sweep() -> None:
    async def interrupted(stage: Stage) -> None:
        stage.arm()
        await trio.sleep(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cancel_at_every_step(interrupted)


def test_a_failure_can_be_played_again_by_its_numbers() -> None:
    failure = cancel_at_every_step(plays.no_shield).failures[-1]
    take = replay(plays.no_shield, failure.mode, failure.step, failure.seed)
    assert failure in take.failures
    assert take.log.lines() == replay(plays.no_shield, failure.mode, failure.step).log.lines()


@pytest.mark.parametrize("seed", range(20))
def test_the_same_seed_gives_the_same_log(seed: int) -> None:
    first = replay(plays.race, "none", 0, seed).log.lines()
    assert len(first) == 32
    assert first == replay(plays.race, "none", 0, seed).log.lines()


def test_different_seeds_give_different_orders_of_the_same_events() -> None:
    logs = [replay(plays.race, "none", 0, seed).log.of("lap") for seed in range(20)]
    orders = {tuple((entry["runner"], entry["lap"]) for entry in log) for log in logs}
    assert len(orders) == 20
    assert len({frozenset(Counter(order).items()) for order in orders}) == 1


def test_a_run_can_be_played_again_in_another_process() -> None:
    program = "tests.hermes_actors.testing.programs.replays"
    first, second = (
        run_until_killed(program, failpoint=None, env={"PYTHONHASHSEED": dice}) for dice in "12"
    )
    assert first.returncode == 0, first.stderr
    assert first.stdout.count("lap runner=") > 100
    assert first.stdout == second.stdout
