from __future__ import annotations

from typing import Any

import pytest

from hermes_actors.store import inbox
from hermes_actors.store.inbox import NewInbox
from tests.hermes_actors.store.desk import Desk


def message(key: str, **more: Any) -> NewInbox:
    fields: dict[str, Any] = {"session_key": "k", "agent_id": "main", "platform": "chat", **more}
    return NewInbox(key=key, payload=fields.pop("payload", f'{{"text":"{key}"}}'), **fields)


def test_the_same_key_twice_is_one_message_and_the_second_time_is_told_so(desk: Desk) -> None:
    first = desk.do(inbox.accept(message("m1"), now=1.0))
    again = desk.do(inbox.accept(message("m1"), now=2.0))
    assert (first.fresh, again.fresh) == (True, False)
    assert again.message == first.message
    assert [each.key for each in desk.ask(inbox.queued("k"))] == ["m1"]


def test_the_same_key_for_other_content_is_a_conflict(desk: Desk) -> None:
    desk.do(inbox.accept(message("m1", digest="aa"), now=1.0))
    assert desk.refusal(inbox.accept(message("m1", digest="bb"), now=2.0)) == "conflict"
    assert not desk.do(inbox.accept(message("m1", digest="aa"), now=3.0)).fresh
    assert not desk.do(inbox.accept(message("m1"), now=3.0)).fresh


def test_messages_wait_in_the_order_of_their_arrival_whatever_the_clock_says(desk: Desk) -> None:
    for key, now in (("m1", 30.0), ("m2", 20.0), ("m3", 10.0)):
        desk.do(inbox.accept(message(key), now=now))
    desk.do(inbox.accept(message("other", session_key="elsewhere"), now=0.0))
    assert [each.key for each in desk.ask(inbox.queued("k"))] == ["m1", "m2", "m3"]
    assert desk.ask(inbox.waiting_sessions()) == ["elsewhere", "k"]


def test_a_conversation_takes_no_more_than_its_room_and_still_knows_what_it_has(
    desk: Desk,
) -> None:
    for key in ("m1", "m2"):
        desk.do(inbox.accept(message(key), now=1.0, room=2))
    assert desk.refusal(inbox.accept(message("m3"), now=1.0, room=2)) == "crowded"
    assert not desk.do(inbox.accept(message("m2"), now=1.0, room=2)).fresh
    assert desk.do(inbox.accept(message("m4", session_key="x"), now=1.0, room=2)).fresh


def test_withdrawing_ends_what_waits_and_nothing_else(desk: Desk) -> None:
    desk.do(inbox.accept(message("m1"), now=1.0))
    desk.do(inbox.reject("m1", "not allowed", now=2.0))
    for key in ("m2", "m3"):
        desk.do(inbox.accept(message(key), now=1.0))
    assert [each.key for each in desk.do(inbox.withdraw("k", now=3.0))] == ["m2", "m3"]
    assert desk.sql("SELECT key, state, reason, finished_at FROM inbox ORDER BY id") == [
        ("m1", "rejected", "not allowed", 2.0),
        ("m2", "withdrawn", "withdrawn", 3.0),
        ("m3", "withdrawn", "withdrawn", 3.0),
    ]
    assert desk.refusal(inbox.reject("m2", "too late", now=4.0)) == "conflict"
    assert desk.refusal(inbox.reject("m9", "never came", now=4.0)) == "missing"


def test_pruning_forgets_ended_messages_only(desk: Desk) -> None:
    for key in ("m1", "m2", "m3"):
        desk.do(inbox.accept(message(key), now=1.0))
    desk.do(inbox.reject("m1", "no", now=2.0))
    desk.do(inbox.reject("m2", "no", now=9.0))
    assert desk.do(inbox.prune(before=5.0)) == 1
    assert desk.sql("SELECT key FROM inbox ORDER BY id") == [("m2",), ("m3",)]


@pytest.mark.parametrize("key", ["with\0nul", "half \ud800 character", "\u202eRTL", "x" * 100_000])
def test_any_text_can_be_a_key(desk: Desk, key: str) -> None:
    assert desk.do(inbox.accept(message(key, payload="{}"), now=1.0)).fresh
    assert not desk.do(inbox.accept(message(key, payload="{}"), now=1.0)).fresh
    assert desk.ask(inbox.find(key)) is not None


def test_a_payload_that_is_not_json_is_refused(desk: Desk) -> None:
    assert desk.refusal(inbox.accept(message("m1", payload="{"), now=1.0)) == "invalid"
