from __future__ import annotations

from hermes_actors.store import cron, inbox, letters, messages, outbox, recovery, runs, tool_calls
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.tool_calls import NewCall
from tests.hermes_actors.store.desk import Desk
from tests.hermes_actors.store.test_inbox import message
from tests.hermes_actors.store.test_runs import begun, new, reply, user


def test_a_run_that_was_left_running_is_found_with_all_it_left(desk: Desk) -> None:
    begun(desk, "m1")
    desk.do(tool_calls.intend("r1", "s1", [NewCall(call_id="c1", name="t")], now=3.0))
    desk.do(outbox.preview(reply("p", "hel", run_id="r1"), now=3.0))
    (orphan,) = desk.ask(recovery.orphans())
    assert orphan.run.id == "r1"
    assert [each.call_id for each in orphan.open_calls] == ["c1"]
    assert [each.key for each in orphan.inbox] == ["m1"]
    assert [each.content for each in orphan.said] == ["m1"]
    assert [each.preview for each in orphan.replies] == ["hel"]
    assert desk.ask(recovery.orphans("s1")) == [orphan]
    assert desk.ask(recovery.orphans("s2")) == []


def test_an_orphan_ends_as_crashed_with_one_hook_owed_and_its_message_waits_again(
    desk: Desk,
) -> None:
    begun(desk, "m1")
    for call in ("meant", "begun"):
        desk.do(tool_calls.intend("r1", "s1", [NewCall(call_id=call, name="t")], now=3.0))
    desk.do(tool_calls.start("r1", "begun", now=4.0))
    sealed = (NewMessage(role="tool", tool_call_id="begun", content="[effect unknown]"),)
    recovered = desk.do(recovery.end_orphan("r1", sealed=sealed, now=9.0))
    assert (recovered.queued, recovered.dead) == (("m1",), ())
    assert desk.sql("SELECT state, reason, hook_fired FROM runs") == [("stopped", "crash", 0)]
    assert desk.sql("SELECT call_id, outcome FROM tool_calls ORDER BY call_id") == [
        ("begun", "unknown"),
        ("meant", "cancelled"),
    ]
    assert desk.sql("SELECT state, strikes FROM inbox") == [("queued", 1)]
    assert len(desk.ask(messages.transcript("s1"))) == 2
    assert [each.id for each in desk.ask(runs.owing_hook())] == ["r1"]
    assert desk.ask(recovery.orphans()) == []


def test_an_orphan_is_ended_once_and_a_second_boot_gives_no_second_strike(desk: Desk) -> None:
    begun(desk, "m1")
    desk.do(recovery.end_orphan("r1", now=9.0))
    assert desk.refusal(recovery.end_orphan("r1", now=10.0)) == "conflict"


def test_the_third_crash_makes_a_message_a_dead_letter_and_lets_the_next_one_pass(
    desk: Desk,
) -> None:
    begun(desk, "poison")
    desk.do(inbox.accept(message("good"), now=2.0))
    assert desk.do(recovery.end_orphan("r1", now=3.0)).dead == ()
    for number in (2, 3):
        first = desk.ask(inbox.queued("k"))[0]
        assert first.key == "poison"
        desk.do(runs.begin(new(f"r{number}"), claim=[first.id], now=4.0))
        last = desk.do(recovery.end_orphan(f"r{number}", now=5.0))
    assert (last.queued, last.dead) == ((), ("poison",))
    assert [each.key for each in desk.ask(inbox.queued("k"))] == ["good"]
    (letter,) = desk.ask(letters.unannounced())
    assert (letter.origin, letter.origin_key, letter.reason) == (
        "inbox",
        "poison",
        "it was in hand at 3 crashes",
    )


def test_someone_is_told_of_a_dead_letter_once(desk: Desk) -> None:
    assert desk.do(letters.bury("actor", "x", reason="why", now=1.0))
    assert not desk.do(letters.bury("actor", "x", reason="again", now=2.0))
    (letter,) = desk.ask(letters.latest())
    assert [desk.do(letters.announce(letter.id)) for _ in range(2)] == [True, False]
    assert desk.ask(letters.unannounced()) == []


def test_what_was_under_way_at_a_crash_is_doubted_at_boot(desk: Desk) -> None:
    first = desk.do(outbox.queue(reply("a"), now=1.0))
    desk.do(outbox.queue(reply("b"), now=1.0))
    desk.do(outbox.take(first, now=2.0))
    desk.do(cron.record("job", 100.0, agent_id="main", now=101.0))
    doubts = desk.do(recovery.doubt(now=9.0))
    assert (doubts.replies, doubts.jobs) == (1, 1)
    assert desk.sql("SELECT key, state FROM outbox") == [("a", "unsure"), ("b", "queued")]
    assert desk.sql("SELECT state FROM cron_instants") == [("unknown",)]
    assert desk.do(recovery.doubt(now=10.0)) == recovery.Doubts(0, 0)


def test_a_run_with_an_end_is_no_orphan_and_its_words_are_kept(desk: Desk) -> None:
    begun(desk, "m1")
    desk.do(messages.append("s1", [user("more")], now=3.0, run_id="r1"))
    desk.do(recovery.end_orphan("r1", replies=(reply("notice"),), now=9.0))
    assert desk.refusal(recovery.end_orphan("r9", now=9.0)) == "missing"
    assert [each.key for each in desk.ask(outbox.heads(now=9.0))] == ["notice"]
