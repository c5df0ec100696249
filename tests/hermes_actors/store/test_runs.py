from __future__ import annotations

from typing import Any

import pytest

from hermes_actors.store import approvals, inbox, messages, outbox, runs, tool_calls
from hermes_actors.store.approvals import NewApproval
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.outbox import NewReply
from hermes_actors.store.runs import NewRun, RunEnd
from hermes_actors.store.states import InboxState, RunState, ToolOutcome
from hermes_actors.store.tool_calls import NewCall
from tests.hermes_actors.store.desk import Desk
from tests.hermes_actors.store.test_inbox import message


def new(run: str = "r1", session: str = "s1") -> NewRun:
    return NewRun(id=run, session_id=session, session_key="k", agent_id="main", platform="chat")


def user(text: str) -> NewMessage:
    return NewMessage(role="user", content=text)


def reply(key: str, text: str = "hello", **more: Any) -> NewReply:
    return NewReply(key=key, platform="chat", chat_id="c1", text=text, **more)


def ending(state: RunState = RunState.COMPLETED, reason: str = "ok", **more: Any) -> RunEnd:
    return RunEnd(run_id="r1", state=state, reason=reason, **more)


def accepted(desk: Desk, *keys: str) -> list[int]:
    return [desk.do(inbox.accept(message(key), now=1.0)).message.id for key in keys]


def begun(desk: Desk, *keys: str) -> None:
    desk.session()
    ids = accepted(desk, *keys)
    desk.do(runs.begin(new(), claim=ids, said=[user(key) for key in keys], now=2.0))


def test_a_run_begins_with_its_messages_in_hand_and_written_down(desk: Desk) -> None:
    begun(desk, "m1", "m2")
    assert desk.sql("SELECT key, state, run_id FROM inbox") == [
        ("m1", "claimed", "r1"),
        ("m2", "claimed", "r1"),
    ]
    assert [each.content for each in desk.ask(messages.transcript("s1"))] == ["m1", "m2"]
    assert desk.ask(runs.get("r1")).state is RunState.RUNNING


def test_only_the_first_that_wait_can_be_claimed(desk: Desk) -> None:
    desk.session()
    first, second = accepted(desk, "m1", "m2")
    assert desk.refusal(runs.begin(new(), claim=[second], now=2.0)) == "conflict"
    assert desk.refusal(runs.begin(new(), claim=[second, first], now=2.0)) == "conflict"
    assert desk.refusal(runs.begin(new(), claim=[first, 99], now=2.0)) == "conflict"
    desk.do(runs.begin(new(), claim=[first], now=2.0))


def test_a_session_has_one_run_at_a_time(desk: Desk) -> None:
    begun(desk, "m1")
    assert desk.refusal(runs.begin(new("r2"), now=3.0)) == "conflict"
    desk.do(runs.end(ending(), now=4.0))
    desk.do(runs.begin(new("r2"), now=5.0))
    running = desk.ask(runs.running("s1"))
    assert running is not None
    assert running.id == "r2"
    assert [each.id for each in desk.ask(runs.of_session("s1"))] == ["r2", "r1"]


def test_the_end_of_a_run_is_one_thing(desk: Desk) -> None:
    begun(desk, "m1")
    desk.do(tool_calls.intend("r1", "s1", [NewCall(call_id="c1", name="a")], now=3.0))
    desk.do(tool_calls.intend("r1", "s1", [NewCall(call_id="c2", name="b")], now=3.5))
    desk.do(tool_calls.start("r1", "c2", now=4.0))
    desk.do(outbox.preview(reply("p", "hel", run_id="r1"), now=4.0))
    sealed = (NewMessage(role="assistant", content="hel", partial=True),)
    ended = desk.do(
        runs.end(
            ending(RunState.STOPPED, "user_stop", sealed=sealed, replies=(reply("stop report"),)),
            now=5.0,
        )
    )
    assert (ended.inbox, ended.calls, len(ended.outbox)) == (("m1",), 2, 1)
    assert desk.sql("SELECT state, reason, ended_at, hook_fired FROM runs") == [
        ("stopped", "user_stop", 5.0, 0)
    ]
    assert desk.sql("SELECT state, reason FROM inbox") == [("stopped", "user_stop")]
    assert desk.sql("SELECT outcome FROM tool_calls") == [("cancelled",), ("cancelled",)]
    assert desk.sql("SELECT key, state FROM outbox ORDER BY id") == [
        ("p", "dead"),
        ("stop report", "queued"),
    ]
    assert [each.partial for each in desk.ask(messages.transcript("s1"))] == [False, True]


def test_of_two_who_end_a_run_the_first_wins_and_the_second_changes_nothing(desk: Desk) -> None:
    begun(desk, "m1")
    desk.do(runs.end(ending(RunState.STOPPED, "user_stop"), now=5.0))
    late = ending(sealed=(user("too late"),), replies=(reply("late"),))
    assert desk.refusal(runs.end(late, now=6.0)) == "conflict"
    assert desk.refusal(runs.end(ending(RunState.STOPPED, "user_stop"), now=6.0)) == "conflict"


def test_a_failure_in_the_middle_of_an_end_leaves_the_run_running(desk: Desk) -> None:
    begun(desk, "m1")
    desk.do(outbox.queue(reply("taken", "other words"), now=3.0))
    late = ending(sealed=(user("sealed"),), replies=(reply("fine"), reply("taken")))
    assert desk.refusal(runs.end(late, now=5.0)) == "conflict"
    assert desk.ask(runs.get("r1")).state is RunState.RUNNING


@pytest.mark.parametrize(
    ("state", "reason", "fate"),
    [
        (RunState.COMPLETED, "ok", "answered"),
        (RunState.STOPPED, "client_disconnected", "stopped"),
        (RunState.HALTED, "budget", "answered"),
        (RunState.FAILED, "provider", "answered"),
        (RunState.EXPIRED, "deadline", "answered"),
    ],
)
def test_each_way_to_end_decides_what_becomes_of_the_messages(
    desk: Desk, state: RunState, reason: str, fate: str
) -> None:
    begun(desk, "m1")
    desk.do(runs.end(ending(state, reason), now=5.0))
    assert desk.sql("SELECT state FROM inbox") == [(fate,)]


def test_a_reason_outside_the_closed_set_is_refused(desk: Desk) -> None:
    begun(desk, "m1")
    assert desk.refusal(runs.end(ending(RunState.STOPPED, "ok"), now=5.0)) == "invalid"
    assert desk.refusal(runs.end(ending(RunState.COMPLETED, "bored"), now=5.0)) == "invalid"
    assert desk.refusal(runs.end(ending(inbox=InboxState.WITHDRAWN), now=5.0)) == "invalid"


def test_messages_can_be_given_back_to_wait_for_the_next_run(desk: Desk) -> None:
    begun(desk, "m1")
    desk.do(runs.end(ending(RunState.STOPPED, "shutdown", inbox=InboxState.QUEUED), now=5.0))
    assert desk.sql("SELECT key, state, run_id, finished_at FROM inbox") == [
        ("m1", "queued", None, None)
    ]
    (again,) = desk.ask(inbox.queued("k"))
    desk.do(runs.begin(new("r2"), claim=[again.id], now=6.0))


def test_a_run_that_goes_on_can_take_a_later_message_in_hand(desk: Desk) -> None:
    begun(desk, "m1")
    (later,) = accepted(desk, "m2")
    desk.do(inbox.claim([later], "r1"))
    assert desk.do(runs.end(ending(), now=5.0)).inbox == ("m1", "m2")


def test_the_duty_to_fire_the_hook_is_taken_once_and_only_after_the_end(desk: Desk) -> None:
    begun(desk, "m1")
    assert not desk.do(runs.take_hook_duty("r1"))
    desk.do(runs.end(ending(), now=5.0))
    assert [each.id for each in desk.ask(runs.owing_hook())] == ["r1"]
    assert [desk.do(runs.take_hook_duty("r1")) for _ in range(3)] == [True, False, False]
    assert desk.ask(runs.owing_hook()) == []


def test_the_phase_is_noted_while_the_run_runs(desk: Desk) -> None:
    begun(desk, "m1")
    desk.do(runs.enter("r1", "model"))
    desk.do(runs.end(ending(), now=5.0))
    desk.do(runs.enter("r1", "tools"))
    assert desk.ask(runs.get("r1")).phase == "model"


def test_the_end_of_a_run_ends_its_open_questions(desk: Desk) -> None:
    begun(desk, "m1")
    asked = NewApproval(
        id="a1",
        session_id="s1",
        run_id="r1",
        call_id="c1",
        tool="t",
        args_digest="d",
        owner="u",
        epoch=1,
    )
    desk.do(approvals.ask(asked, now=3.0))
    desk.do(runs.end(ending(RunState.STOPPED, "user_stop"), now=5.0))
    assert desk.ask(approvals.get("a1")).state == "cancelled"


def test_a_tool_call_goes_from_intent_to_start_to_finish_and_never_back(desk: Desk) -> None:
    begun(desk, "m1")
    asks = NewMessage(role="assistant", tool_calls='[{"id":"c1"}]')
    desk.do(tool_calls.intend("r1", "s1", [NewCall(call_id="c1", name="t")], said=[asks], now=3.0))
    desk.do(tool_calls.start("r1", "c1", now=4.0))
    assert desk.refusal(tool_calls.start("r1", "c1", now=4.0)) == "conflict"
    answer = NewMessage(role="tool", tool_call_id="c1", content="42")
    desk.do(tool_calls.finish("r1", "c1", ToolOutcome.OK, result=answer, now=5.0))
    late = tool_calls.finish("r1", "c1", ToolOutcome.ERROR, result=answer, now=6.0)
    assert desk.refusal(late) == "conflict"
    assert desk.refusal(tool_calls.start("r1", "c9", now=6.0)) == "missing"
    assert [each.role for each in desk.ask(messages.transcript("s1"))] == [
        "user",
        "assistant",
        "tool",
    ]
    (call,) = desk.ask(tool_calls.of_run("r1"))
    assert (call.state, call.outcome, call.started_at, call.finished_at) == (
        "finished",
        "ok",
        4.0,
        5.0,
    )
