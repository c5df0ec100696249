from __future__ import annotations

from typing import Any

from hermes_actors.store import letters, outbox
from hermes_actors.store.outbox import NewReply
from tests.hermes_actors.store.desk import Desk


def reply(key: str, text: str = "hello", chat: str = "c1", **more: Any) -> NewReply:
    return NewReply(key=key, platform="chat", chat_id=chat, text=text, **more)


def heads(desk: Desk, now: float = 10.0) -> list[str]:
    return [each.key for each in desk.ask(outbox.heads(now=now))]


def test_previews_and_the_final_text_are_one_row(desk: Desk) -> None:
    assert desk.do(outbox.preview(reply("r", "Hel"), now=1.0))
    assert desk.do(outbox.preview(reply("r", "Hello wo"), now=2.0))
    desk.do(outbox.shown("r", '{"message_id":"7"}', now=2.5))
    assert heads(desk) == []
    desk.do(outbox.queue(reply("r", "Hello world"), now=3.0))
    assert not desk.do(outbox.preview(reply("r", "Hello wor"), now=4.0))
    assert desk.sql("SELECT state, preview, text, receipt FROM outbox") == [
        ("queued", "Hello wo", "Hello world", '{"message_id":"7"}')
    ]


def test_the_same_words_under_the_same_key_are_queued_once(desk: Desk) -> None:
    first = desk.do(outbox.queue(reply("r"), now=1.0))
    assert desk.do(outbox.queue(reply("r"), now=2.0)) == first
    assert desk.refusal(outbox.queue(reply("r", "other words"), now=2.0)) == "conflict"


def test_each_chat_is_sent_its_rows_in_order_and_chats_do_not_wait_for_each_other(
    desk: Desk,
) -> None:
    one = desk.do(outbox.queue(reply("a1"), now=1.0))
    two = desk.do(outbox.queue(reply("a2"), now=1.0))
    desk.do(outbox.queue(reply("b1", chat="c2"), now=1.0))
    desk.do(outbox.queue(reply("x1", account="other"), now=1.0))
    assert heads(desk) == ["a1", "b1", "x1"]
    assert desk.refusal(outbox.take(two, now=2.0)) == "conflict"
    desk.do(outbox.take(one, now=2.0))
    assert heads(desk) == ["b1", "x1"]
    desk.do(outbox.sent(one, '{"id":"1"}', now=3.0))
    assert heads(desk) == ["a2", "b1", "x1"]


def test_a_platform_that_says_not_now_holds_up_its_chat_until_then(desk: Desk) -> None:
    one = desk.do(outbox.queue(reply("a1"), now=1.0))
    desk.do(outbox.queue(reply("a2"), now=1.0))
    desk.do(outbox.take(one, now=2.0))
    desk.do(outbox.later(one, not_before=30.0, error="rate limited", now=2.0))
    assert heads(desk, now=29.9) == []
    assert desk.ask(outbox.next_due()) == 30.0
    assert heads(desk, now=30.0) == ["a1"]
    again = desk.do(outbox.take(one, now=30.0))
    assert (again.attempts, again.repeated) == (2, False)


def test_a_lost_answer_makes_the_next_try_a_marked_repeat(desk: Desk) -> None:
    one = desk.do(outbox.queue(reply("a1"), now=1.0))
    assert not desk.do(outbox.take(one, now=2.0)).repeated
    desk.do(outbox.unsure(one, "connection reset", now=3.0))
    assert heads(desk) == ["a1"]
    assert desk.do(outbox.take(one, now=4.0)).repeated


def test_a_row_can_be_in_one_hand_only_and_ends_once(desk: Desk) -> None:
    one = desk.do(outbox.queue(reply("a1"), now=1.0))
    assert desk.refusal(outbox.sent(one, None, now=1.0)) == "conflict"
    desk.do(outbox.take(one, now=2.0))
    assert desk.refusal(outbox.take(one, now=2.0)) == "conflict"
    desk.do(outbox.sent(one, None, now=3.0))
    for late in (
        outbox.take(one, now=4.0),
        outbox.sent(one, None, now=4.0),
        outbox.later(one, not_before=9.0, error="late", now=4.0),
        outbox.bury(one, "late", now=4.0),
    ):
        assert desk.refusal(late) == "conflict"
    assert desk.refusal(outbox.take(99, now=4.0)) == "missing"


def test_a_row_that_is_given_up_becomes_a_dead_letter_and_frees_its_chat(desk: Desk) -> None:
    one = desk.do(outbox.queue(reply("a1"), now=1.0))
    desk.do(outbox.queue(reply("a2"), now=1.0))
    desk.do(outbox.bury(one, "chat not found", now=2.0))
    assert heads(desk) == ["a2"]
    (letter,) = desk.ask(letters.unannounced())
    assert (letter.origin, letter.origin_key, letter.reason) == ("outbox", "a1", "chat not found")


def test_pruning_forgets_what_is_over_and_nothing_that_is_owed(desk: Desk) -> None:
    one = desk.do(outbox.queue(reply("a1"), now=1.0))
    desk.do(outbox.take(one, now=1.0))
    desk.do(outbox.sent(one, None, now=1.0))
    desk.do(outbox.queue(reply("a2"), now=1.0))
    desk.do(outbox.preview(reply("a3"), now=1.0))
    assert desk.do(outbox.prune(before=5.0)) == 1
    assert desk.sql("SELECT key FROM outbox ORDER BY id") == [("a2",), ("a3",)]
