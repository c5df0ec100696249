"""The small tables: handoffs, approvals, due moments, notes and usage."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_actors.store import approvals, cron, handoffs, notes, runs, sessions, usage
from hermes_actors.store.approvals import Decision, NewApproval
from hermes_actors.store.handoffs import NewHandoff
from hermes_actors.store.notes import ABSENT
from hermes_actors.store.states import ApprovalState, CronState
from hermes_actors.store.usage import Spent
from tests.hermes_actors.store.desk import Desk
from tests.hermes_actors.store.test_runs import new as new_run

# Handoffs -------------------------------------------------------------------------------------


def requested(desk: Desk) -> None:
    desk.session()
    desk.do(handoffs.request(NewHandoff(id="h1", session_id="s1", platform="chat"), now=1.0))


def test_a_handoff_is_claimed_by_exactly_one(desk: Desk) -> None:
    requested(desk)
    claims = [desk.do(handoffs.claim("h1", t, lease_until=60.0, now=2.0)) for t in ("a", "b")]
    assert claims == [True, False]
    desk.do(handoffs.complete("h1", "a", '{"chat_id":"c"}', now=3.0))
    assert desk.ask(handoffs.get("h1")).state == "completed"
    assert not desk.do(handoffs.claim("h1", "c", lease_until=99.0, now=90.0))


def test_a_crashed_worker_blocks_a_handoff_only_until_its_lease_is_over(desk: Desk) -> None:
    requested(desk)
    desk.do(handoffs.claim("h1", "dead", lease_until=60.0, now=2.0))
    assert desk.ask(handoffs.claimable(now=59.0)) == []
    assert [each.id for each in desk.ask(handoffs.claimable(now=60.0))] == ["h1"]
    assert desk.do(handoffs.claim("h1", "heir", lease_until=120.0, now=60.0))
    for late in (
        handoffs.complete("h1", "dead", "{}", now=61.0),
        handoffs.renew("h1", "dead", lease_until=200.0, now=61.0),
        handoffs.fail("h1", "late", token="dead", now=61.0),
        handoffs.fail("h1", "timed out waiting", now=61.0),
    ):
        assert desk.refusal(late) == "conflict"
    desk.do(handoffs.renew("h1", "heir", lease_until=200.0, now=61.0))
    desk.do(handoffs.fail("h1", "x" * 900, token="heir", now=62.0))
    failed = desk.ask(handoffs.latest("s1"))
    assert failed is not None
    assert (failed.state, failed.error) == ("failed", "x" * 500)


def test_a_session_has_one_open_handoff(desk: Desk) -> None:
    requested(desk)
    second = NewHandoff(id="h2", session_id="s1", platform="chat")
    assert desk.refusal(handoffs.request(second, now=2.0)) == "conflict"
    desk.do(handoffs.fail("h1", "nobody came", now=3.0))
    desk.do(handoffs.request(second, now=4.0))
    assert [each.id for each in desk.ask(handoffs.claimable(now=4.0))] == ["h2"]


# Approvals --------------------------------------------------------------------------------------


def asked(desk: Desk, **more: Any) -> None:
    desk.session()
    desk.do(runs.begin(new_run(), now=1.0))
    fields: dict[str, Any] = {"call_id": "c1", "tool": "terminal", "args_digest": "d", **more}
    question = NewApproval(id="a1", session_id="s1", run_id="r1", owner="ann", epoch=7, **fields)
    desk.do(approvals.ask(question, now=2.0))


def answer(**more: Any) -> Decision:
    fields: dict[str, Any] = {"by": "ann", "approve": True, "epoch": 7, "args_digest": "d", **more}
    return Decision(id="a1", **fields)


def test_only_the_owner_may_answer_and_only_to_what_was_asked(desk: Desk) -> None:
    asked(desk)
    assert desk.refusal(approvals.decide(answer(by="bob"), now=3.0)) == "invalid"
    assert desk.refusal(approvals.decide(answer(epoch=8), now=3.0)) == "conflict"
    assert desk.refusal(approvals.decide(answer(args_digest="e"), now=3.0)) == "conflict"
    assert [each.id for each in desk.ask(approvals.pending("s1"))] == ["a1"]
    assert desk.do(approvals.decide(answer(), now=3.0)).state == "approved"
    assert desk.refusal(approvals.decide(answer(approve=False), now=4.0)) == "conflict"
    assert desk.ask(approvals.pending("s1")) == []


def test_silence_is_not_a_denial_and_a_late_answer_is_too_late(desk: Desk) -> None:
    asked(desk, expires_at=10.0)
    assert desk.do(approvals.expire(now=9.0)) == []
    assert desk.refusal(approvals.decide(answer(), now=10.0)) == "conflict"
    assert desk.do(approvals.expire(now=10.0)) == ["a1"]
    assert desk.ask(approvals.get("a1")).state == "expired"


def test_a_question_that_nobody_could_hear_is_closed_and_never_by_pretending_an_answer(
    desk: Desk,
) -> None:
    asked(desk)
    pretend = approvals.close("a1", ApprovalState.APPROVED, now=3.0)
    assert desk.refusal(pretend) == "invalid"
    desk.do(approvals.close("a1", ApprovalState.UNREACHABLE, now=3.0))
    assert desk.refusal(approvals.decide(answer(), now=4.0)) == "conflict"


@pytest.mark.parametrize(("scope", "stands"), [("once", False), ("session", True)])
def test_an_approval_stands_for_the_same_call_only_if_it_was_given_so(
    desk: Desk, scope: str, stands: bool
) -> None:
    asked(desk)
    desk.do(approvals.decide(answer(scope=scope), now=3.0))
    assert desk.ask(approvals.granted("s1", "terminal", "d")) is stands
    assert not desk.ask(approvals.granted("s1", "terminal", "other"))


# Due moments ------------------------------------------------------------------------------------


def test_a_due_moment_is_taken_once(desk: Desk) -> None:
    take = cron.record("job", 100.0, agent_id="main", now=103.0)
    assert [desk.do(take) for _ in range(2)] == [True, False]
    desk.do(cron.finish("job", 100.0, CronState.OK, now=110.0, run_id="r1"))
    assert desk.refusal(cron.finish("job", 100.0, CronState.FAILED, now=111.0)) == "conflict"
    last = desk.ask(cron.last("job"))
    assert last is not None
    assert (last.state, last.late_by, last.ended_at) == ("ok", 3.0, 110.0)


def test_missed_moments_are_on_record_and_the_last_of_a_job_is_never_forgotten(desk: Desk) -> None:
    for due in (100.0, 200.0, 300.0):
        missed = CronState.MISSED
        desk.do(cron.record("job", due, agent_id="main", now=400.0, state=missed))
    assert [each.due for each in desk.ask(cron.history("job", limit=2))] == [300.0, 200.0]
    assert desk.do(cron.prune(before=1000.0)) == 2
    assert [each.due for each in desk.ask(cron.history("job"))] == [300.0]


# Notes ------------------------------------------------------------------------------------------


def test_a_note_says_what_was_put_last(desk: Desk) -> None:
    desk.do(notes.put("cursors", "telegram", {"offset": 7}, now=1.0))
    desk.do(notes.put("cursors", "telegram", {"offset": 8}, now=2.0))
    assert desk.ask(notes.get("cursors", "telegram")) == {"offset": 8}
    assert desk.ask(notes.get("cursors", "slack", default=0)) == 0
    assert [desk.do(notes.delete("cursors", "telegram")) for _ in range(2)] == [True, False]


def test_a_note_changes_only_from_what_was_expected(desk: Desk) -> None:
    def swap(expected: Any, wanted: Any) -> bool:
        change = notes.compare_and_set("s", "n", expected=expected, wanted=wanted, now=1.0)
        return desk.do(change)

    assert not swap(1, 2)
    assert swap(ABSENT, None)
    assert not swap(ABSENT, 3)
    assert swap(None, (1, 2))
    assert swap((1, 2), {"a": 1})
    assert not swap({"a": 2}, 4)
    assert swap({"a": 1}, ABSENT)
    assert desk.ask(notes.get("s", "n", default="gone")) == "gone"


def test_a_space_is_listed_by_prefix_and_forgets_what_is_old(desk: Desk) -> None:
    for name, now in (("a%1", 1.0), ("a%2", 2.0), ("ab", 3.0)):
        desk.do(notes.put("s", name, now, now=now))
    desk.do(notes.put("t", "a%9", 9, now=1.0))
    assert desk.ask(notes.space("s", prefix="a%")) == {"a%1": 1.0, "a%2": 2.0}
    assert desk.do(notes.prune("s", before=2.0)) == 1
    assert desk.ask(notes.space("s")) == {"a%2": 2.0, "ab": 3.0}


# Usage ------------------------------------------------------------------------------------------


def test_usage_adds_up_per_day_and_per_session(desk: Desk) -> None:
    desk.session()
    for tokens in (10, 20):
        spent = Spent(input_tokens=tokens, output_tokens=1, cost_micros=5)
        desk.do(usage.add("2031-12-24", "main", "demo", spent, session_id="s1"))
    desk.do(usage.add("2031-12-25", "main", "demo", Spent(input_tokens=99)))
    (day,) = desk.ask(usage.of_day("2031-12-24"))
    assert (day.calls, day.input_tokens, day.output_tokens, day.cost_micros) == (2, 30, 2, 10)
    assert desk.ask(usage.tokens("2031-12-24", "main")) == 32
    assert desk.ask(usage.tokens("2031-12-24", "nobody")) == 0
    assert desk.ask(sessions.get("s1")).input_tokens == 30
