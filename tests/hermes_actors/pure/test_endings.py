"""The closed set of endings is one set, wherever it is written down."""

from __future__ import annotations

from hermes_actors.pure.endings import ENDINGS, REASONS, Ending, ending
from hermes_actors.store.states import RunState
from hermes_actors.testing.vocabulary import TERMINAL_REASONS


def test_the_set_is_the_one_that_runs_are_judged_by() -> None:
    assert dict(REASONS) == TERMINAL_REASONS
    assert {"running", *REASONS} == set(RunState)


def test_a_reason_belongs_to_one_state() -> None:
    assert len({each.reason for each in ENDINGS}) == len(ENDINGS) == 18
    assert ending("guardrail") == Ending("halted", "guardrail")
    assert all(ending(each.reason) == each for each in ENDINGS)
