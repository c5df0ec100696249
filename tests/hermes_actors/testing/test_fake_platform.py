from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from hermes_actors.journal import Entry
from hermes_actors.ports import Platform
from hermes_actors.testing import (
    FINE,
    HANG,
    LOST_ANSWER,
    EventLog,
    FakePlatform,
    Pause,
    check,
    recorded,
)
from hermes_actors.testing.fake_platform import chat_of
from hermes_actors.values import Capabilities, NotSent, Outbound, Sent, Source, Unsure

HERE = Source("fake", "1")
KEYED = Capabilities(takes_idempotency_key=True)


def words(text: str, **more: Any) -> Outbound:
    return Outbound(HERE, text, **more)


async def test_what_is_sent_is_visible_and_can_be_edited(autojump_clock: MockClock) -> None:
    fake = FakePlatform()
    platform: Platform = fake
    sent = await platform.send(words("Hel"))
    assert isinstance(sent, Sent)
    assert await platform.edit(sent.message_id, words("Hello.")) == sent
    await platform.send(words("Bye."))
    assert fake.visible() == ["Hello.", "Bye."]
    assert [shown.edits for shown in fake.shown(HERE)] == [1, 0]
    assert [(asked.what, asked.text) for asked in fake.asked] == [
        ("send", "Hel"),
        ("edit", "Hello."),
        ("send", "Bye."),
    ]


async def test_chats_and_threads_are_kept_apart(autojump_clock: MockClock) -> None:
    fake = FakePlatform()
    thread = await fake.create_handoff_thread(HERE, "later")
    assert thread is not None
    await fake.send(words("in the chat"))
    await fake.send(Outbound(thread, "in the thread"))
    assert fake.visible("1") == ["in the chat"]
    assert fake.visible(thread) == fake.visible(chat_of(thread)) == ["in the thread"]
    assert fake.visible("nobody has been here") == []


async def test_a_person_in_a_handoff_thread_writes_from_the_source_that_was_promised(
    autojump_clock: MockClock,
) -> None:
    fake = FakePlatform()
    asked = fake.inbound("take over", "7", user="ann")
    thread = await fake.create_handoff_thread(asked.source, "case")
    assert thread is not None
    assert fake.inbound("hi", "7", user="ann", thread=thread.thread_id).source == thread


async def test_a_platform_without_threads_or_in_trouble_opens_none(
    autojump_clock: MockClock,
) -> None:
    fake = FakePlatform(capabilities=Capabilities(supports_threads=False))
    assert await fake.create_handoff_thread(HERE, "case") is None
    fake = FakePlatform()
    fake.opens_threads = False
    assert await fake.create_handoff_thread(HERE, "case") is None
    assert [asked.what for asked in fake.asked] == ["thread"]


def test_each_message_of_a_person_has_a_key_of_its_own() -> None:
    fake = FakePlatform("tele")
    first, second = fake.inbound("hi"), fake.inbound("hi")
    assert first.key != second.key
    assert first.source == Source("tele", "1", user_id="someone")


REFUSALS = [
    ("", Capabilities(), NotSent("bad_format", "a message has words")),
    ("four", Capabilities(max_length=3), NotSent("too_long", "4 of 3")),
]


@pytest.mark.parametrize(("text", "capabilities", "no"), REFUSALS)
async def test_what_a_platform_cannot_show_is_refused_and_not_shown(
    text: str, capabilities: Capabilities, no: NotSent, autojump_clock: MockClock
) -> None:
    fake = FakePlatform(capabilities=capabilities)
    assert await fake.send(words(text)) == no
    assert fake.visible() == []


async def test_length_is_counted_in_the_platforms_own_unit(autojump_clock: MockClock) -> None:
    fake = FakePlatform(
        capabilities=Capabilities(max_length=3),
        length=lambda text: len(text.encode("utf-16-le")) // 2,
    )
    assert await fake.send(words("ab🙂")) == NotSent("too_long", "4 of 3")
    assert isinstance(await fake.send(words("a🙂")), Sent)


async def test_an_edit_needs_the_capability_and_a_message_of_this_chat(
    autojump_clock: MockClock,
) -> None:
    fake = FakePlatform()
    sent = await fake.send(words("here"))
    assert isinstance(sent, Sent)
    elsewhere = Outbound(Source("fake", "2"), "there")
    gone = NotSent("not_found", f"there is no message '{sent.message_id}' in this chat")
    assert await fake.edit(sent.message_id, elsewhere) == gone
    rigid = FakePlatform(capabilities=Capabilities(supports_edit=False))
    assert await rigid.edit("m1", words("x")) == NotSent("forbidden", "this platform cannot edit")
    assert fake.visible() == ["here"]


async def test_the_script_decides_call_by_call_and_then_all_is_fine(
    autojump_clock: MockClock,
) -> None:
    fake = FakePlatform()
    no, later, maybe = NotSent("forbidden"), NotSent("transient", "502"), Unsure("timeout")
    fake.script(no, later, FINE, maybe, RuntimeError("adapter bug"))
    assert await fake.send(words("a")) == no
    assert await fake.send(words("b")) == later
    assert isinstance(await fake.send(words("c")), Sent)
    assert await fake.send(words("d")) == maybe
    with pytest.raises(RuntimeError, match="adapter bug"):
        await fake.send(words("e"))
    assert isinstance(await fake.send(words("f")), Sent)
    assert fake.visible() == ["c", "f"]


def test_an_answer_that_no_platform_gives_is_refused_where_it_is_written() -> None:
    with pytest.raises(TypeError, match="a platform cannot answer 'no'"):
        FakePlatform().script("no")  # type: ignore[arg-type]


async def test_after_a_lost_answer_only_a_key_prevents_a_double(autojump_clock: MockClock) -> None:
    for capabilities, seen in ((KEYED, ["once"]), (Capabilities(), ["once", "once"])):
        fake = FakePlatform(capabilities=capabilities)
        fake.script(LOST_ANSWER)
        assert await fake.send(words("once", outbox="row")) == Unsure("the answer was lost")
        assert isinstance(await fake.send(words("once", outbox="row", repeat=True)), Sent)
        assert fake.visible() == seen


async def test_a_refusal_with_retry_after_closes_this_chat_until_then(
    autojump_clock: MockClock,
) -> None:
    fake = FakePlatform()
    fake.script(NotSent("rate_limited", retry_after=3))
    assert await fake.send(words("a")) == NotSent("rate_limited", retry_after=3)
    await trio.sleep(1)
    assert await fake.send(words("b")) == NotSent("rate_limited", "too early", 2)
    assert isinstance(await fake.send(Outbound(Source("fake", "2"), "elsewhere")), Sent)
    await trio.sleep(2)
    assert isinstance(await fake.send(words("c")), Sent)
    assert [asked.text for asked in fake.impatient] == ["b"]


async def test_the_pace_of_a_chat_is_kept_and_the_first_breach_is_no_impatience(
    autojump_clock: MockClock,
) -> None:
    fake = FakePlatform(pace=1.0)
    assert isinstance(await fake.send(words("a")), Sent)
    assert await fake.send(words("b")) == NotSent("rate_limited", "too early", 1.0)
    assert fake.impatient == []
    assert await fake.send(words("c")) == NotSent("rate_limited", "too early", 1.0)
    assert [asked.text for asked in fake.impatient] == ["c"]
    await trio.sleep(1)
    assert isinstance(await fake.send(words("d")), Sent)
    assert await fake.send(words("e")) == NotSent("rate_limited", "too early", 1.0)
    assert [asked.text for asked in fake.impatient] == ["c"]
    assert fake.visible() == ["a", "d"]


async def test_a_call_takes_the_time_that_it_is_told_to(autojump_clock: MockClock) -> None:
    fake = FakePlatform(delay=0.25)
    fake.script(FINE, Pause(5))
    await fake.send(words("a"))
    assert trio.current_time() == 0.25
    await fake.send(words("b"))
    assert trio.current_time() == 5.25
    assert fake.visible() == ["a", "b"]


async def test_a_call_that_hangs_shows_nothing_and_is_on_record(autojump_clock: MockClock) -> None:
    fake = FakePlatform()
    fake.script(HANG)
    with trio.move_on_after(10):
        await fake.send(words("a"))
    assert fake.visible() == []
    assert [(asked.text, asked.answer) for asked in fake.asked] == [("a", None)]


class CutsWhenNoted(EventLog):
    """Cancels a scope as soon as anything is noted."""

    def __init__(self, scope: trio.CancelScope) -> None:
        super().__init__()
        self._scope = scope

    def __call__(self, entry: Entry) -> None:
        self._scope.cancel("something was noted")


async def test_a_caller_can_be_cut_before_the_words_are_visible(autojump_clock: MockClock) -> None:
    fake = FakePlatform()
    with trio.CancelScope() as scope:
        scope.cancel()
        await fake.send(words("a"))
    assert fake.visible() == []


async def test_a_caller_can_be_cut_after_the_words_are_visible(autojump_clock: MockClock) -> None:
    scope = trio.CancelScope()
    fake = FakePlatform(journal=recorded(CutsWhenNoted(scope)))
    with scope:
        await fake.send(words("a"))
    assert scope.cancelled_caught
    assert fake.visible() == ["a"]


async def test_it_notes_what_an_adapter_would(autojump_clock: MockClock) -> None:
    log = EventLog()
    journal = recorded(log)
    fake = FakePlatform(journal=journal)
    journal.note("run.started", run="r", session="s", agent="main")
    await fake.typing(HERE, "r")
    sent = await fake.send(words("Hel", outbox="1", run="r", final=False))
    assert isinstance(sent, Sent)
    journal.note("outbox.committed", chat="1", outbox="1")
    journal.note("run.ended", run="r", state="completed", reason="ok")
    journal.note("hook.fired", run="r", hook="agent_loop_completed")
    await fake.edit(sent.message_id, words("Hello.", outbox="1", run="r"))
    assert log.of("typing.sent", "platform.sent").lines() == [
        "   2     0.000  typing.sent run=r",
        "   3     0.000  platform.sent chat=1 outbox=1 run=r",
        "   7     0.000  platform.sent chat=1 outbox=1",
    ]
    assert [asked.what for asked in fake.asked] == ["typing", "send", "edit"]
    assert check(log) == []
    await fake.typing(HERE, "r")
    assert [violation.invariant for violation in check(log)] == ["I4"]
