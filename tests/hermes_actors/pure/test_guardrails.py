"""An agent that repeats itself is warned, then stopped, and a new run starts clean."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_actors.config.schema import GuardrailSettings
from hermes_actors.pure.guardrails import (
    CODES,
    NAMES,
    GuardrailLimits,
    Guardrails,
    Kind,
    Thresholds,
    Verdict,
    blocked_result,
    halt_text,
    note,
)
from hermes_actors.pure.signatures import arguments_of, canonical, signature
from hermes_actors.pure.tool_rules import ToolRule
from hermes_actors.values import ToolCall

RUN = ToolCall("1", "terminal", '{"command": "pytest"}')
READ = ToolCall("2", "read_file", '{"path": "a"}')
NEVER = 10**9


def stop_after(
    exact: int = NEVER, tool: int = NEVER, progress: int = NEVER, *, warn: bool = False
) -> Guardrails:
    return Guardrails(
        GuardrailLimits(warn, True, hard_stop_after=Thresholds(exact, tool, progress))
    )


def code(verdict: Verdict | None) -> str | None:
    return None if verdict is None else verdict.code


def test_the_codes_are_the_three_that_people_know() -> None:
    assert CODES == (
        "repeated_exact_failure_block",
        "same_tool_failure_block",
        "idempotent_no_progress_block",
    )


def test_the_limits_are_those_of_the_configuration() -> None:
    ours, theirs = GuardrailLimits(), GuardrailSettings()
    for name in ("warnings_enabled", "hard_stop_enabled"):
        assert getattr(ours, name) == getattr(theirs, name)
    for name in ("exact_failure", "same_tool_failure", "idempotent_no_progress"):
        assert getattr(ours.warn_after, name) == getattr(theirs.warn_after, name)
        assert getattr(ours.hard_stop_after, name) == getattr(theirs.hard_stop_after, name)


def test_with_a_limit_of_two_the_third_equal_failing_call_is_not_run() -> None:
    rails = stop_after(exact=2)
    seen = []
    for _ in range(2):
        seen.append(code(rails.before(RUN)))
        seen.append(code(rails.after(RUN, "no", failed=True)))
    assert seen == [None] * 4
    assert rails.halt is None
    assert code(rails.before(RUN)) == "repeated_exact_failure_block"
    assert rails.halt is not None
    assert (rails.halt.action, rails.halt.count) == ("block", 2)


def test_the_same_call_written_differently_is_the_same_call() -> None:
    rails = stop_after(exact=2)
    rails.after(ToolCall("1", "t", '{"a": 1, "b": [2]}'), "no", failed=True)
    rails.after(ToolCall("2", "t", '{"b":[2],"a":1}'), "no", failed=True)
    assert rails.before(ToolCall("3", "t", '{ "b" : [2], "\\u0061": 1}')) is not None
    assert rails.before(ToolCall("4", "t", '{"a": 1, "b": [3]}')) is None
    assert rails.before(ToolCall("5", "u", '{"b":[2],"a":1}')) is None


def test_a_tool_that_fails_in_many_ways_ends_the_run_right_after_the_last_failure() -> None:
    rails = stop_after(tool=3)
    verdicts = [
        code(rails.after(ToolCall("1", "t", f'{{"n": {n}}}'), "no", failed=True)) for n in range(3)
    ]
    assert verdicts == [None, None, "same_tool_failure_block"]
    assert rails.halt is not None
    assert rails.halt.action == "halt"


def test_a_success_of_the_tool_clears_its_failures() -> None:
    rails = stop_after(tool=3)
    for _ in range(5):
        rails.after(RUN, "no", failed=True)
        rails.after(RUN, "no", failed=True)
        rails.after(ToolCall("1", "terminal", "{}"), "yes", failed=False)
    assert rails.halt is None


def test_a_success_of_the_call_clears_its_own_failures() -> None:
    rails = stop_after(exact=2)
    rails.after(RUN, "no", failed=True)
    rails.after(RUN, "yes", failed=False)
    rails.after(RUN, "no", failed=True)
    assert rails.before(RUN) is None


def test_equal_results_of_a_harmless_call_are_no_progress() -> None:
    rails = stop_after(progress=2)
    rails.after(READ, '{"x": 1, "y": 2}', failed=False)
    assert rails.before(READ) is None
    rails.after(READ, '{"y":2,"x":1}', failed=False)
    assert code(rails.before(READ)) == "idempotent_no_progress_block"


def test_a_failure_in_between_starts_the_count_of_equal_results_again() -> None:
    rails = stop_after(progress=2)
    rails.after(READ, "a", failed=False)
    rails.after(READ, "no", failed=True)
    rails.after(READ, "a", failed=False)
    assert rails.before(READ) is None


def test_a_new_result_is_progress() -> None:
    rails = stop_after(progress=2)
    for result in ("a", "b", "a", "b"):
        rails.after(READ, result, failed=False)
    assert rails.before(READ) is None


def test_a_tool_with_effects_may_give_equal_results_for_ever() -> None:
    rails = stop_after(progress=2, warn=True)
    assert [rails.after(RUN, "ok", failed=False) for _ in range(9)] == [None] * 9
    assert rails.before(RUN) is None


def test_which_tools_are_harmless_is_a_rule_and_not_a_name() -> None:
    rails = Guardrails(
        GuardrailLimits(hard_stop_after=Thresholds(9, 9, 1)), {"look": ToolRule(idempotent=True)}
    )
    rails.after(ToolCall("1", "look", "{}"), "x", failed=False)
    rails.after(READ, "x", failed=False)
    assert rails.before(ToolCall("2", "look", "{}")) is not None
    assert rails.before(READ) is None


def test_the_defaults_warn_early_and_stop_late() -> None:
    rails = Guardrails()
    seen = []
    for _ in range(6):
        before = rails.before(RUN)
        seen.append(code(before or rails.after(RUN, "no", failed=True)))
    assert seen == [
        None,
        *["repeated_exact_failure_warning"] * 4,
        "repeated_exact_failure_block",
    ]


def test_different_failures_warn_about_the_tool() -> None:
    rails = Guardrails()
    calls = [ToolCall("1", "t", f"[{n}]") for n in range(3)]
    assert [code(rails.after(call, "no", failed=True)) for call in calls] == [
        None,
        None,
        "same_tool_failure_warning",
    ]


def test_with_hard_stops_off_there_are_only_warnings() -> None:
    rails = Guardrails(GuardrailLimits(hard_stop_enabled=False))
    for _ in range(30):
        assert rails.before(RUN) is None
        verdict = rails.after(RUN, "no", failed=True)
        assert verdict is None or verdict.action == "warn"
    assert rails.halt is None


def test_with_everything_off_nothing_is_said() -> None:
    rails = Guardrails(GuardrailLimits(False, False))
    assert [rails.after(READ, "x", failed=False) for _ in range(9)] == [None] * 9
    assert [rails.after(RUN, "x", failed=True) for _ in range(9)] == [None] * 9


def test_the_first_halt_is_the_one_that_is_told() -> None:
    rails = stop_after(exact=1, tool=2)
    rails.after(RUN, "no", failed=True)
    first = rails.before(RUN)
    rails.after(ToolCall("9", "terminal", "{}"), "no", failed=True)
    assert rails.halt == first


@pytest.mark.parametrize(("kind", "expected"), list(zip(NAMES, CODES, strict=True)))
def test_every_halt_names_the_tool_the_code_and_the_count(kind: Kind, expected: str) -> None:
    verdict = Verdict("block", kind, "web_search", 7, "hash")
    for text in (halt_text(verdict), note(verdict)):
        assert expected in text
        assert "7" in text
    assert "web_search" in halt_text(verdict)


def test_a_blocked_call_tells_the_model_why_and_shows_no_arguments() -> None:
    rails = stop_after(exact=1)
    secret = ToolCall("1", "terminal", '{"token": "hunter2"}')
    rails.after(secret, "no", failed=True)
    verdict = rails.before(secret)
    assert verdict is not None
    result = blocked_result(verdict)
    assert "hunter2" not in result
    assert json.loads(result)["guardrail"]["code"] == "repeated_exact_failure_block"
    assert json.loads(result)["guardrail"]["tool_name"] == "terminal"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_the_canonical_form_does_not_depend_on_how_it_was_written(value: object) -> None:
    spaced = json.dumps(value, indent=3)
    assert canonical(spaced) == canonical(json.dumps(value, ensure_ascii=False))
    assert canonical(canonical(spaced)) == canonical(spaced)


@pytest.mark.parametrize(
    "text", ["", "{", "\ud800", '"\\ud800"', "[" * 100_000, "9" * 9999, "NaN", '{"a":1}{"b":2}']
)
def test_any_text_has_a_signature(text: str) -> None:
    call = ToolCall("1", "t", text)
    assert signature(call) == signature(call)
    assert arguments_of(call) == ({} if not text else None)
