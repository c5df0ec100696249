from __future__ import annotations

import pytest

from hermes_actors.errors import StoreRefused
from hermes_actors.store import bindings, lineage, messages, sessions
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.sessions import Changes, NewSession, clean_title
from tests.hermes_actors.store.desk import Desk


def new(name: str, key: str = "k") -> NewSession:
    return NewSession(id=name, session_key=key, agent_id="main", platform="chat")


def say(desk: Desk, session: str, *texts: str) -> None:
    lines = [NewMessage(role="user", content=text) for text in texts]
    desk.do(messages.append(session, lines, now=5.0))


def test_two_first_messages_find_one_session(desk: Desk) -> None:
    first = desk.do(bindings.open_session(new("s1"), now=1.0))
    second = desk.do(bindings.open_session(new("s2"), now=2.0))
    assert (first.session.id, first.fresh) == ("s1", True)
    assert (second.session.id, second.fresh) == ("s1", False)
    assert desk.refusal(sessions.create(new("s1", "other"), now=3.0)) == "exists"


def test_starting_over_ends_the_old_session_and_remembers_why(desk: Desk) -> None:
    desk.do(bindings.open_session(new("s1"), now=1.0))
    say(desk, "s1", "hello")
    desk.do(bindings.start_over(new("s2"), "new_session", now=6.0))
    old = desk.ask(sessions.get("s1"))
    assert (old.ended_at, old.end_reason) == (6.0, "new_session")
    binding = desk.ask(bindings.find("k"))
    assert binding is not None
    assert (binding.session_id, binding.reset_reason, binding.reset_had_activity) == (
        "s2",
        "new_session",
        True,
    )


def test_the_first_reason_for_an_end_stays(desk: Desk) -> None:
    desk.session()
    assert desk.do(sessions.end("s1", "idle", now=2.0))
    assert not desk.do(sessions.end("s1", "daily", now=3.0))
    assert desk.ask(sessions.get("s1")).end_reason == "idle"
    assert desk.do(sessions.reopen("s1", now=4.0)).ended_at is None


def test_switching_ends_the_session_before_and_lets_the_other_go_on(desk: Desk) -> None:
    desk.do(bindings.open_session(new("s1"), now=1.0))
    desk.do(bindings.start_over(new("s2"), "new_session", now=2.0))
    desk.do(bindings.switch("k", "s1", now=3.0))
    assert desk.ask(sessions.get("s1")).ended_at is None
    assert desk.ask(sessions.get("s2")).end_reason == "session_switch"
    assert [each.session_key for each in desk.ask(bindings.leading_to("s1"))] == ["k"]
    assert desk.refusal(bindings.switch("k", "s9", now=4.0)) == "missing"


def test_several_keys_may_lead_to_one_session(desk: Desk) -> None:
    desk.do(bindings.open_session(new("s1"), now=1.0))
    desk.do(bindings.bind("thread", "s1", agent_id="main", now=2.0))
    assert desk.do(bindings.open_session(new("s2", "thread"), now=3.0)).session.id == "s1"


def test_the_duty_to_finalize_a_quiet_session_is_taken_once_and_not_after_it_woke(
    desk: Desk,
) -> None:
    desk.do(bindings.open_session(new("s1"), now=1.0))
    desk.do(bindings.open_session(new("s2", "k2"), now=1.0))
    assert [each.session_key for each in desk.ask(bindings.quiet(since=5.0))] == ["k", "k2"]
    assert [desk.do(bindings.finalize("k", quiet_since=5.0)) for _ in range(2)] == [True, False]
    desk.do(bindings.touch("k2", now=6.0))
    assert not desk.do(bindings.finalize("k2", quiet_since=5.0))
    assert desk.ask(bindings.quiet(since=5.0)) == []
    desk.do(bindings.suspend("k"))
    found = desk.ask(bindings.find("k"))
    assert found is not None
    assert found.suspended


def test_a_title_belongs_to_one_session(desk: Desk) -> None:
    desk.session("s1")
    desk.session("s2")
    assert desk.do(sessions.entitle("s1", "  My\nplan\x07 ", now=2.0)).title == "My plan"
    assert desk.refusal(sessions.entitle("s2", "My plan", now=2.0)) == "exists"
    assert desk.do(sessions.entitle("s1", "My plan", now=3.0)).title == "My plan"
    found = desk.ask(sessions.titled("My plan"))
    assert found is not None
    assert found.id == "s1"
    assert desk.do(sessions.entitle("s1", None, now=4.0)).title is None
    assert len(clean_title("x" * 500)) == 100
    with pytest.raises(StoreRefused, match="visible"):
        clean_title(" \n ")


def test_only_what_is_given_is_changed(desk: Desk) -> None:
    desk.session(display_name="Room")
    changed = desk.do(sessions.amend("s1", Changes(system_prompt="Be kind."), now=7.0))
    assert (changed.display_name, changed.system_prompt, changed.updated_at) == (
        "Room",
        "Be kind.",
        7.0,
    )
    assert desk.do(sessions.amend("s1", Changes(display_name=None), now=8.0)).display_name is None
    assert desk.refusal(sessions.amend("s1", Changes(extra="{"), now=8.0)) == "invalid"
    assert desk.refusal(sessions.amend("s9", Changes(archived=True), now=8.0)) == "missing"


def test_the_list_has_the_latest_first_and_leaves_out_what_is_archived(desk: Desk) -> None:
    for name, platform in (("s1", "chat"), ("s2", "web"), ("s3", "chat")):
        desk.session(name, platform=platform)
    say(desk, "s1", "hello")
    desk.do(sessions.amend("s3", Changes(archived=True), now=9.0))
    desk.do(sessions.entitle("s2", "T", now=2.0))
    assert [each.id for each in desk.ask(sessions.latest())] == ["s1", "s2"]
    assert [each.id for each in desk.ask(sessions.latest(platform="web"))] == ["s2"]
    assert [each.id for each in desk.ask(sessions.latest(only_titled=True))] == ["s2"]
    assert [each.id for each in desk.ask(sessions.latest(limit=1, offset=1))] == ["s2"]


def test_a_branch_has_the_same_words_and_goes_its_own_way(desk: Desk) -> None:
    desk.session("s1")
    desk.do(sessions.entitle("s1", "Plan", now=2.0))
    say(desk, "s1", "one", "two")
    made = desk.do(lineage.branch("s1", new("s2"), now=3.0))
    assert (made.parent_id, made.title, made.message_count) == ("s1", "Plan #2", 2)
    assert desk.do(lineage.branch("s2", new("s3"), now=3.0)).title == "Plan #3"
    say(desk, "s2", "three")
    assert [each.content for each in desk.ask(messages.transcript("s1"))] == ["one", "two"]
    assert [each.content for each in desk.ask(messages.transcript("s2"))] == ["one", "two", "three"]
    assert desk.ask(lineage.ancestry("s3")) == ["s3", "s2", "s1"]


def test_the_tip_follows_compressed_sessions_to_the_newest(desk: Desk) -> None:
    desk.session("s1")
    desk.session("s2", parent_id="s1")
    desk.session("s3", parent_id="s2")
    assert desk.ask(lineage.tip("s1")).id == "s1"
    for name in ("s1", "s2"):
        desk.do(sessions.end(name, "compression", now=2.0))
    assert desk.ask(lineage.tip("s1")).id == "s3"
