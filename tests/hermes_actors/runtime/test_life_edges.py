"""Races and crashes at the worst moment, each in the sender's own step."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import Refusal
from hermes_actors.journal import Journal
from hermes_actors.runtime import Actor, How, Life, Mailbox, Ref, Reply, System
from hermes_actors.runtime.crash import causes
from tests.hermes_actors.runtime.actors import Diary, living


async def outcome_of(ref: Ref[Any], message: Any, answers: list[str]) -> None:
    """Ask, and write down what came of it."""
    try:
        answers.append(f"{message}: {await ref.ask(message)}")
    except Refusal as no:
        answers.append(f"{message}: {no}")


async def test_a_message_sent_just_before_a_stop_does_not_begin_after_it(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with living(diary) as alive:
        alive.ref.tell("too late")
        alive.ref.stop("now")
        await alive.over.wait()
        assert diary.pages == ["started", "stopped"]
        assert alive.ref.depth == 1  # it waits for a successor, or for the dead letters


async def test_a_drain_ends_even_if_its_last_message_was_taken_back_in_the_same_step(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with living(diary) as alive:
        alive.ref.tell("never mind")
        alive.ref.interrupt("all of it", drop_queued=True)
        alive.ref.drain("closing")
        await alive.over.wait()
        assert diary.pages == ["started", "dropped never mind", "stopped"]


async def test_a_drain_does_everything_that_waits_parked_askers_included(
    autojump_clock: MockClock,
) -> None:
    diary, answers = Diary(), list[str]()
    async with living(diary, capacity=1) as alive, trio.open_nursery() as nursery:
        alive.ref.tell("slow")
        await wait_all_tasks_blocked()
        alive.ref.tell("in the lane")
        for text in ("parked", "parked too"):
            nursery.start_soon(outcome_of, alive.ref, text, answers)
            await wait_all_tasks_blocked()
        alive.ref.drain("closing")
        alive.ref.interrupt("go on")
    assert answers == ["parked: PARKED", "parked too: PARKED TOO"]
    assert alive.ended is not None
    assert alive.ended.how is How.DRAINED


async def test_an_interrupt_wins_over_work_that_ends_without_noticing_it(
    autojump_clock: MockClock,
) -> None:
    class Hasty(Actor[str]):
        async def receive(self, message: str) -> object:
            if message == "cut me":
                assert self.ref.interrupt("user_stop")
            return "an answer nobody should see"

    answers: list[str] = []
    async with living(Hasty()) as alive:
        await outcome_of(alive.ref, "cut me", answers)
        await outcome_of(alive.ref, "next", answers)
    assert answers == [
        "cut me: 'diary' will not answer: interrupted: user_stop",
        "next: an answer nobody should see",
    ]


async def test_an_actor_that_stops_itself_still_gives_its_last_answer(
    autojump_clock: MockClock,
) -> None:
    class Leaving(Actor[str]):
        async def receive(self, message: str) -> object:
            self.ref.stop("asked to")
            return "goodbye"

    async with living(Leaving()) as alive:
        assert await alive.ref.ask("leave") == "goodbye"
        await alive.over.wait()
        assert alive.ended is not None
        assert (alive.ended.how, alive.ended.reason) == (How.STOPPED, "asked to")


class Batch(Actor[str]):
    """Takes all that waits in hand together; then waits, refuses or crashes, as the first says."""

    def __init__(self) -> None:
        self.replies: list[Reply | None] = []
        self.gate = trio.Event()

    async def receive(self, message: str) -> object:
        if message == "hold":
            await self.gate.wait()
            return None
        self.replies = [self.reply_later(), *(reply for _, reply in self.take_queued(9))]
        if message == "refuse":
            raise Refusal("not today")
        if message == "crash":
            raise ValueError("torn")
        if message == "wait":
            await trio.sleep_forever()
        return None


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ("refuse", ["refuse: not today", "second: 'diary' will not answer: refused: not today"]),
        (
            "crash",
            [
                "crash: 'diary' will not answer: crashed: ValueError('torn')",
                "second: 'diary' will not answer: crashed: ValueError('torn')",
            ],
        ),
        (
            "wait",
            [
                "wait: 'diary' will not answer: interrupted: enough",
                "second: 'diary' will not answer: interrupted: enough",
            ],
        ),
    ],
)
async def test_work_that_does_not_return_leaves_nobody_waiting_whom_it_took_in_hand(
    first: str, told: list[str], autojump_clock: MockClock
) -> None:
    batch, answers = Batch(), list[str]()
    async with living(batch) as alive, trio.open_nursery() as nursery:
        alive.ref.tell("hold")
        for text in (first, "second"):
            nursery.start_soon(outcome_of, alive.ref, text, answers)
            await wait_all_tasks_blocked()
        batch.gate.set()
        await wait_all_tasks_blocked()
        alive.ref.interrupt("enough")
    assert sorted(answers) == sorted(told)


async def test_replies_put_off_by_work_that_returned_stay_open_and_are_refused_at_the_end(
    autojump_clock: MockClock,
) -> None:
    batch, answers = Batch(), list[str]()
    async with living(batch) as alive, trio.open_nursery() as nursery:
        nursery.start_soon(outcome_of, alive.ref, "first", answers)
        await wait_all_tasks_blocked()
        assert answers == []
        nursery.start_soon(outcome_of, alive.ref, "refuse", answers)
        await wait_all_tasks_blocked()
        assert answers == ["refuse: not today"]
        alive.ref.stop("enough")
    assert answers[1:] == ["first: 'diary' will not answer: enough"]


async def test_an_asker_that_leaves_cuts_no_work_that_is_others_as_well(
    autojump_clock: MockClock,
) -> None:
    batch, answers, first = Batch(), list[str](), trio.CancelScope()

    async def ask_and_leave() -> None:
        with first:
            await alive.ref.ask("wait")

    async with living(batch) as alive, trio.open_nursery() as nursery:
        alive.ref.tell("hold")
        nursery.start_soon(ask_and_leave)
        await wait_all_tasks_blocked()
        nursery.start_soon(outcome_of, alive.ref, "with it", answers)
        await wait_all_tasks_blocked()
        batch.gate.set()
        await wait_all_tasks_blocked()
        first.cancel()
        await wait_all_tasks_blocked()
        assert [reply is not None and reply.open for reply in batch.replies] == [False, True]
        assert (answers, alive.life.phase) == ([], "working")
        alive.ref.stop("enough")


async def test_an_actor_that_owes_an_answer_is_not_idle(autojump_clock: MockClock) -> None:
    batch, answers = Batch(), list[str]()
    async with living(batch) as alive, trio.open_nursery() as nursery:
        nursery.start_soon(outcome_of, alive.ref, "first", answers)
        await wait_all_tasks_blocked()
        assert alive.life.unload() is False
        (reply,) = batch.replies
        assert reply is not None
        assert reply.answer("there you are")
        assert alive.life.unload() is True
    assert answers == ["first: there you are"]


async def test_an_actor_with_waiting_work_is_not_idle(autojump_clock: MockClock) -> None:
    diary = Diary()
    async with living(diary) as alive:
        alive.ref.tell("just arrived")
        assert alive.life.unload() is False
        await wait_all_tasks_blocked()
        assert diary.pages == ["started", "did just arrived"]


async def test_a_question_put_off_after_its_asker_left_is_owed_to_nobody(
    autojump_clock: MockClock,
) -> None:
    class Slow(Actor[str]):
        withdraw_cuts = False

        async def receive(self, message: str) -> object:
            await trio.sleep(5)
            reply = self.reply_later()
            assert reply is not None
            assert reply.withdrawn
            return None

    async with living(Slow()) as alive:
        with trio.move_on_after(1):
            await alive.ref.ask("hello")
        await trio.sleep(10)
        assert alive.life.unload() is True


class Touchy(Diary):
    """Raises in whichever of its plain functions it was told to."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where

    def on_dropped(self, message: Any) -> None:
        super().on_dropped(message)
        if self._where == "on_dropped":
            raise KeyError(message)

    def on_drain(self) -> None:
        if self._where == "on_drain":
            raise KeyError("drain")

    def may_unload(self) -> bool:
        raise KeyError("unload")


async def test_a_crash_in_on_dropped_is_the_actors_and_all_that_waited_are_told(
    autojump_clock: MockClock,
) -> None:
    touchy, answers = Touchy("on_dropped"), list[str]()
    async with living(touchy) as alive, trio.open_nursery() as nursery:
        alive.ref.tell("slow")
        await wait_all_tasks_blocked()
        for text in ("a", "b"):
            nursery.start_soon(outcome_of, alive.ref, text, answers)
        await wait_all_tasks_blocked()
        alive.ref.interrupt("stop all", drop_queued=True)
    assert sorted(answers) == [f"{x}: 'diary' will not answer: dropped: stop all" for x in "ab"]
    assert alive.ended is not None
    assert alive.ended.error is not None
    assert [type(cause) for cause in causes(alive.ended.error)] == [KeyError, KeyError]


async def test_a_crash_in_on_drain_is_the_actors_not_that_of_who_closes(
    autojump_clock: MockClock,
) -> None:
    async with living(Touchy("on_drain")) as alive:
        alive.ref.drain("closing")
        await alive.over.wait()
        assert alive.ended is not None
        assert repr(alive.ended.error) == "KeyError('drain')"


async def test_a_crash_in_may_unload_is_the_actors_not_that_of_who_tidies_up(
    autojump_clock: MockClock,
) -> None:
    async with living(Touchy("may_unload")) as alive:
        assert alive.life.unload() is False
        await alive.over.wait()
        assert alive.ended is not None
        assert repr(alive.ended.error) == "KeyError('unload')"


async def test_two_crashes_of_signal_handlers_in_one_step_are_both_kept(
    autojump_clock: MockClock,
) -> None:
    async with living(Diary()) as alive:
        alive.ref.signal("crash")
        alive.ref.signal("crash")
        await alive.over.wait()
        assert alive.ended is not None
        assert alive.ended.error is not None
        assert len(causes(alive.ended.error)) == 2


async def test_an_unloading_life_does_not_count_as_unloading_twice(
    autojump_clock: MockClock,
) -> None:
    async with living(Diary()) as alive:
        assert [alive.life.unload(), alive.life.unload()] == [True, False]


async def test_an_error_with_endless_words_is_cut_short_in_the_journal(
    autojump_clock: MockClock,
) -> None:
    class Wordy(Diary):
        async def receive(self, message: Any) -> object:
            raise ValueError("x" * 1_000_000)

    async with living(Wordy()) as alive:
        alive.ref.tell("go")
        await alive.over.wait()
        assert max(len(str(entry.data)) for entry in alive.journal.recent()) < 1000


async def test_a_second_life_on_an_address_that_is_alive_is_refused(
    autojump_clock: MockClock,
) -> None:
    async with living(Diary()) as alive:
        with pytest.raises(RuntimeError, match="one life at a time"):
            await Life(Diary(), alive.box, alive.journal).run()
        assert await alive.ref.ask("still here") == "STILL HERE"


async def test_a_keyboard_interrupt_passes_through_and_the_actor_is_cleaned_up(
    autojump_clock: MockClock,
) -> None:
    class Unplugged(Diary):
        async def receive(self, message: Any) -> object:
            raise KeyboardInterrupt

    diary, box = Unplugged(), Mailbox[Any]("unplugged")
    box.put("go")
    with pytest.RaisesGroup(KeyboardInterrupt):
        await Life(diary, box, Journal()).run()
    assert diary.pages == ["started", "stopped"]


async def test_closing_an_address_whose_life_clings_to_it_answers_who_waits_for_it(
    autojump_clock: MockClock,
) -> None:
    release, answers = trio.Event(), list[str]()

    class Clinging(Actor[str]):
        async def receive(self, message: str) -> object:
            with trio.CancelScope(shield=True):
                await release.wait()
            return "too late"

    async with living(Clinging()) as alive, trio.open_nursery() as nursery:
        nursery.start_soon(outcome_of, alive.ref, "in hand", answers)
        await wait_all_tasks_blocked()
        System().retire(alive.box, "given up on")
        await wait_all_tasks_blocked()
        assert answers == ["in hand: 'diary' will not answer: given up on"]
        release.set()


async def test_stopped_is_called_also_when_started_failed(autojump_clock: MockClock) -> None:
    class Unlucky(Diary):
        async def started(self) -> None:
            raise OSError("no")

    diary = Unlucky()
    ended = await Life(diary, Mailbox[Any]("unlucky"), Journal()).run()
    assert diary.pages == ["stopped"]
    assert isinstance(ended.error, OSError)


async def test_a_stop_before_the_first_step_ends_a_life_that_never_worked(
    autojump_clock: MockClock,
) -> None:
    diary, box = Diary(), Mailbox[Any]("early")
    box.put("never done")
    life = Life(diary, box, Journal())
    life.stop("changed my mind")
    ended = await life.run()
    assert (ended.how, ended.reason) == (How.STOPPED, "changed my mind")
    assert "did never done" not in diary.pages
