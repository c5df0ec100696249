from __future__ import annotations

import pytest

from hermes_actors.journal import Entry
from hermes_actors.testing import INVARIANTS, VOCABULARY, EventLog, assert_invariants, check
from hermes_actors.testing.invariants import Rule, misspelling
from hermes_actors.testing.rules.runs import ACTS
from hermes_actors.testing.vocabulary import BY_NAME
from tests.hermes_actors.testing.cases import CASES
from tests.hermes_actors.testing.cases.lines import ASKED, BEGIN, CALL, CUT, NEW, OK, Case
from tests.hermes_actors.testing.logs import log_of

RULES: dict[str, Rule] = {
    rule.__name__: rule for invariant in INVARIANTS for rule in invariant.rules
}
ALL = [
    pytest.param(RULES[name], case, id=f"{name}: {case.title}")
    for name, cases in CASES.items()
    for case in cases
]


@pytest.mark.parametrize(("rule", "case"), ALL)
def test_a_rule_finds_what_breaks_it_and_nothing_else(rule: Rule, case: Case) -> None:
    assert [str(violation) for violation in rule(log_of(*case.lines).entries, True)] == list(
        case.says
    )


@pytest.mark.parametrize(("rule", "case"), ALL)
def test_the_check_tells_what_a_rule_finds_and_passes_a_near_miss(rule: Rule, case: Case) -> None:
    found = [str(violation) for violation in check(log_of(*case.lines))]
    assert set(case.says) <= set(found)
    assert case.says != () or found == []


def test_every_rule_has_a_log_that_breaks_it_and_a_near_miss() -> None:
    for name in RULES:
        broken = [case for case in CASES[name] if case.says]
        assert broken, f"nothing shows that {name} can fail"
        assert len(broken) < len(CASES[name]), f"nothing shows that {name} can pass"


def test_every_kind_is_used_by_a_case_or_is_known_to_be_of_no_interest() -> None:
    used = {line.split()[0] for cases in CASES.values() for case in cases for line in case.lines}
    only_told = {"actor.restarted", "letter.dead"}
    assert {kind.name for kind in VOCABULARY} - used == only_told


def test_every_act_of_a_run_carries_its_run() -> None:
    assert all("run" in (*BY_NAME[act].ids, *BY_NAME[act].also) for act in ACTS)


UNFINISHED = [
    (BEGIN,),
    (BEGIN, CUT),
    (BEGIN, "child.started run=r child=a"),
    (ASKED,),
    (CALL,),
    (CALL, "remote.ended call=x how=cancelled"),
    ("actor.started actor=a",),
    ("census moment=start tasks=1 threads=1 fds=1 processes=0",),
]


@pytest.mark.parametrize("lines", UNFINISHED, ids=" ".join)
def test_what_is_merely_unfinished_breaks_only_a_complete_log(lines: tuple[str, ...]) -> None:
    assert check(log_of(*lines), complete=False) == []
    assert check(log_of(*lines), complete=True) != []


def test_what_cannot_be_put_right_breaks_an_incomplete_log_too() -> None:
    late = [
        case
        for cases in CASES.values()
        for case in cases
        if case.says and "after the end" in case.title
    ]
    assert len(late) == 9
    for case in late:
        assert [v.invariant for v in check(log_of(*case.lines), complete=False)] == ["I4"]


def test_a_new_process_owes_what_was_durable_and_nothing_else() -> None:
    log = log_of(
        "actor.started actor=a",
        "activation.started address=a",
        "mailbox.opened actor=a capacity=1",
        "census moment=start tasks=1 threads=1 fds=1 processes=0",
        ASKED,
        BEGIN,
        "child.started run=r child=t",
        CALL,
        "store.committed ops=[1]",
        NEW,
        "actor.started actor=a",
        "activation.started address=a",
        "actor.ended actor=a",
    )
    assert [str(violation) for violation in check(log)] == [
        "I1: message 'k' was accepted and never ended (entry 5)",
        "I3: run 'r' started and never ended (entry 6)",
    ]


MISSPELT = [
    ("run.started run=r session=s", "'run.started' has no agent"),
    ("run.started", "'run.started' has no run, session, agent"),
    ("run.started run=null session=s agent=a", "'run.started' has no run"),
    (
        "inbound.ended key=k state=forgotten",
        "'inbound.ended' says state 'forgotten', "
        "which is none of answered, stopped, rejected, dead",
    ),
    (
        "run.ended run=r state=stopped reason=ok",
        "a run cannot end 'stopped' for the reason 'ok'",
    ),
    (
        "run.ended run=r state=completed reason=user_stop",
        "a run cannot end 'completed' for the reason 'user_stop'",
    ),
    ('run.started run=["r"] session=s agent=a', "'run.started' has a run that is ['r']"),
    ("mailbox.opened actor=a capacity=many", "'mailbox.opened' has a capacity that is 'many'"),
    ("store.committed ops=7", "'store.committed' has a ops that is 7"),
    ('remote.ended call=x how=result by={"a":1}', "'remote.ended' has a by that is {'a': 1}"),
]


@pytest.mark.parametrize(("line", "complaint"), MISSPELT)
def test_a_misspelt_entry_is_named_and_the_other_rules_do_not_trip_over_it(
    line: str, complaint: str
) -> None:
    assert [str(v) for v in check(log_of(line), complete=False)] == [
        f"vocabulary: {complaint} (entry 1)"
    ]


def test_entries_of_other_kinds_are_welcome_and_not_looked_at() -> None:
    assert misspelling(Entry(1, 0.0, "plugin.loaded", {"run": ["anything"]})) is None
    assert check(log_of("plugin.loaded run=1 whatever=2", "run.paused")) == []


def test_the_assertion_lists_every_violation() -> None:
    with pytest.raises(AssertionError) as failure:
        assert_invariants(log_of(BEGIN, ASKED))
    assert str(failure.value).splitlines() == [
        "invariants are broken:",
        "I1: message 'k' was accepted and never ended (entry 2)",
        "I3: run 'r' started and never ended (entry 1)",
    ]
    assert_invariants(log_of(BEGIN, OK, "hook.fired run=r hook=agent_loop_completed"))
    assert_invariants(EventLog())


def test_the_invariants_have_the_names_that_the_documentation_uses() -> None:
    names = [invariant.id for invariant in INVARIANTS]
    assert names == [f"I{number}" for number in range(1, 10)] + ["one-activation", "commit-first"]
