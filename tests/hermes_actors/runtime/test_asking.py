from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import ActorGone, MailboxFull, Refusal
from hermes_actors.runtime import Actor, Down, How, Mailbox, Ref, System
from tests.hermes_actors.runtime.actors import Diary, living


async def test_an_ask_is_answered_with_what_receive_returns(autojump_clock: MockClock) -> None:
    async with living(Diary()) as alive:
        assert await alive.ref.ask("hello") == "HELLO"


async def test_an_ask_waits_for_room_and_keeps_its_turn(autojump_clock: MockClock) -> None:
    diary, answers = Diary(), list[str]()
    async with living(diary, capacity=1) as alive, trio.open_nursery() as nursery:

        async def ask(text: str) -> None:
            answers.append(await alive.ref.ask(text))

        alive.ref.tell("slow")
        await wait_all_tasks_blocked()
        alive.ref.tell("first")
        for text in ("second", "third"):
            nursery.start_soon(ask, text)
            await wait_all_tasks_blocked()
        with pytest.raises(MailboxFull):
            alive.ref.tell("pushing in")
        alive.ref.interrupt("go on")
        await wait_all_tasks_blocked()
    assert diary.pages[3:6] == ["did first", "did second", "did third"]
    assert answers == ["SECOND", "THIRD"]


async def test_dropping_the_queue_reports_each_message_and_tells_askers(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with living(diary) as alive, trio.open_nursery() as nursery:

        async def ask() -> None:
            with pytest.raises(ActorGone, match="dropped: user_stop"):
                await alive.ref.ask("asked")

        alive.ref.tell("slow")
        await wait_all_tasks_blocked()
        alive.ref.tell("told")
        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        alive.ref.interrupt("user_stop", drop_queued=True)
        assert diary.pages[2:] == ["dropped told", "dropped asked"]


async def test_a_cancelled_asker_withdraws_a_question_that_has_not_begun(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with living(diary) as alive:
        alive.ref.tell("slow")
        with trio.move_on_after(1):
            await alive.ref.ask("never mind")
        alive.ref.interrupt("go on")
        await wait_all_tasks_blocked()
        assert diary.pages == ["started", "did slow", "slow cut: go on"]


async def test_a_question_withdrawn_while_waiting_for_room_never_begins(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with living(diary, capacity=1) as alive:
        alive.ref.tell("slow")
        await wait_all_tasks_blocked()
        alive.ref.tell("waits")
        with trio.move_on_after(1):
            await alive.ref.ask("never mind")
        assert alive.ref.depth == 1
        alive.ref.interrupt("go on")
        await wait_all_tasks_blocked()
        assert diary.pages[3:] == ["did waits"]


async def test_a_cancelled_asker_cuts_the_work_that_was_to_answer_it(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with living(diary) as alive:
        with trio.move_on_after(1):
            await alive.ref.ask("slow")
        await wait_all_tasks_blocked()
        assert diary.pages == ["started", "did slow", "slow cut: the asker left"]
        assert await alive.ref.ask("next") == "NEXT"


async def test_an_actor_may_refuse_to_be_cut_by_its_askers(autojump_clock: MockClock) -> None:
    class Thorough(Diary):
        withdraw_cuts = False

        async def receive(self, message: Any) -> object:
            await trio.sleep(10)
            self.pages.append(f"finished {message}")
            return message

    diary = Thorough()
    async with living(diary) as alive:
        with trio.move_on_after(1):
            await alive.ref.ask("write")
        await trio.sleep(20)
        assert diary.pages == ["started", "finished write"]


async def test_a_refusal_is_an_answer_and_the_actor_lives(autojump_clock: MockClock) -> None:
    async with living(Diary()) as alive:
        with pytest.raises(Refusal, match="not today"):
            await alive.ref.ask("refuse")
        assert await alive.ref.ask("still there") == "STILL THERE"


async def test_a_refusal_that_nobody_asked_for_is_recorded(autojump_clock: MockClock) -> None:
    async with living(Diary()) as alive:
        alive.ref.tell("refuse")
        await wait_all_tasks_blocked()
        assert [e.kind for e in alive.journal.recent()][-1] == "work.refused"
        assert alive.ref.alive


async def test_a_crash_ends_the_life_and_tells_the_asker(autojump_clock: MockClock) -> None:
    diary = Diary()
    async with living(diary) as alive:
        with pytest.raises(ActorGone, match="crashed: ValueError\\('bad message'\\)"):
            await alive.ref.ask("crash")
        await alive.over.wait()
        assert alive.ended is not None
        assert alive.ended.how is How.CRASHED
        assert isinstance(alive.ended.error, ValueError)
        assert diary.pages == ["started", "did crash", "stopped"]


async def test_an_asker_is_told_when_the_actor_is_stopped_under_it(
    autojump_clock: MockClock,
) -> None:
    async with living(Diary()) as alive, trio.open_nursery() as nursery:

        async def ask() -> None:
            with pytest.raises(ActorGone, match="will not answer: enough"):
                await alive.ref.ask("slow")

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        alive.ref.stop("enough")


async def test_replies_can_be_given_later_and_are_refused_if_the_actor_dies(
    autojump_clock: MockClock,
) -> None:
    class Batcher(Actor[str]):
        async def receive(self, message: str) -> object:
            reply = self.reply_later()
            assert reply is not None
            rest = self.take_queued(10)
            reply.answer(f"{message} with {len(rest)} more")
            for text, other in rest[:1]:
                assert other is not None
                other.answer(text.upper())
            await trio.sleep_forever()
            return "not seen"

    answers: list[str] = []
    async with living(Batcher()) as alive, trio.open_nursery() as nursery:

        async def ask(text: str) -> None:
            try:
                answers.append(await alive.ref.ask(text))
            except ActorGone as gone:
                answers.append(f"{text}: {gone.reason}")

        for text in ("a", "b", "c"):
            nursery.start_soon(ask, text)
        await wait_all_tasks_blocked()
        alive.ref.stop("enough")
    first, answered, refused = sorted(answers, key=len)[::-1][0], *sorted(answers, key=len)[:2]
    assert first.endswith("with 2 more")
    assert answered.isupper()
    assert refused.endswith(": enough")


async def test_an_actor_that_asks_itself_is_told_at_once(autojump_clock: MockClock) -> None:
    class Narcissus(Actor[str]):
        async def receive(self, message: str) -> object:
            return await self.ref.ask("me?")

    actor = Narcissus()
    async with living(actor) as alive:
        with pytest.raises(ActorGone, match="asks itself"):
            await alive.ref.ask("you")


async def test_watchers_hear_of_the_end_once_and_late_ones_at_once(
    autojump_clock: MockClock,
) -> None:
    watcher = Diary()
    system = System()
    async with living(watcher) as alive:
        box = Mailbox[Any]("watched")
        ref = Ref("watched", box)
        ref.watch(alive.ref)
        box.put("left behind")
        system.retire(box, "worn out")
        system.retire(box, "again")
        ref.watch(alive.ref)
        down = Down("watched", "worn out")
        assert watcher.pages == ["started", f"heard {down}", f"heard {down}"]
        assert [letter.message for letter in system.dead_letters()] == ["left behind"]
        assert await ref.joined() == "worn out"


async def test_a_finished_actor_answers_at_once(autojump_clock: MockClock) -> None:
    box = Mailbox[Any]("done")
    ref = Ref("done", box)
    async with trio.open_nursery() as nursery:

        async def ask() -> None:
            with pytest.raises(ActorGone, match="finished"):
                await ref.ask("anyone?")

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        System().retire(box, "finished")
    with pytest.raises(ActorGone):
        ref.tell("hello?")
    await ask()
    assert not ref.interrupt("nothing")
    assert not ref.signal("nothing")
