from __future__ import annotations

import contextvars
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import ActorGone, MailboxFull
from hermes_actors.journal import Journal
from hermes_actors.runtime import Actor, Ended, How, Life, Mailbox, Ref
from hermes_actors.runtime.crash import causes
from tests.hermes_actors.runtime.actors import Diary, living


async def test_work_is_done_one_piece_at_a_time_and_in_order(autojump_clock: MockClock) -> None:
    diary = Diary()
    async with living(diary) as alive:
        for message in ("a", "b", "c"):
            alive.ref.tell(message)
        assert diary.pages == ["started"]
        await wait_all_tasks_blocked()
        assert diary.pages == ["started", "did a", "did b", "did c"]


async def test_a_full_lane_refuses_a_tell_and_says_how_full(autojump_clock: MockClock) -> None:
    async with living(Diary(), capacity=2) as alive:
        alive.ref.tell("slow")
        await wait_all_tasks_blocked()
        alive.ref.tell("a")
        alive.ref.tell("b")
        with pytest.raises(MailboxFull, match="'diary' is full \\(2 messages wait\\)"):
            alive.ref.tell("c")
        refusals = [
            entry.data for entry in alive.journal.recent() if entry.kind == "mailbox.refused"
        ]
        assert refusals == [{"actor": "diary", "lane": "work", "depth": 2}]


async def test_control_is_heard_in_the_senders_step_past_any_queue(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with living(diary, capacity=10_000) as alive:
        alive.ref.tell("slow")
        await wait_all_tasks_blocked()
        for number in range(10_000):
            alive.ref.tell(number)
        assert alive.ref.signal("now") is True
        assert diary.pages == ["started", "did slow", "heard now"]


async def test_interrupt_cuts_the_work_in_hand_and_the_next_piece_is_done(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with living(diary) as alive:
        alive.ref.tell("slow")
        alive.ref.tell("after")
        await wait_all_tasks_blocked()
        assert alive.ref.interrupt("user_stop") is True
        await wait_all_tasks_blocked()
        assert diary.pages == ["started", "did slow", "slow cut: user_stop", "did after"]


async def test_interrupt_with_nothing_in_hand_says_so_and_hits_nothing_later(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with living(diary) as alive:
        assert alive.ref.interrupt("too early") is False
        assert await alive.ref.ask("next") == "NEXT"


async def test_interrupt_before_the_actor_took_the_message_does_not_hit_it(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with living(diary) as alive:
        alive.ref.tell("queued")
        assert alive.ref.interrupt("stale") is False
        await wait_all_tasks_blocked()
        assert diary.pages == ["started", "did queued"]


async def test_an_interrupt_for_another_number_is_a_no_op(autojump_clock: MockClock) -> None:
    diary = Diary()
    async with living(diary) as alive:
        await alive.ref.ask("first")
        alive.ref.tell("slow")
        await wait_all_tasks_blocked()
        assert alive.ref.interrupt("late", number=1) is False
        assert alive.ref.interrupt("right", number=2) is True
        await wait_all_tasks_blocked()
        assert diary.pages[-1] == "slow cut: right"


async def test_a_second_interrupt_does_not_change_the_reason(autojump_clock: MockClock) -> None:
    diary = Diary()
    async with living(diary) as alive:
        alive.ref.tell("slow")
        await wait_all_tasks_blocked()
        alive.ref.interrupt("first")
        alive.ref.interrupt("second")
        await wait_all_tasks_blocked()
        assert diary.pages[-1] == "slow cut: first"


async def test_what_waits_behind_a_crash_stays_in_the_box_for_the_next_life(
    autojump_clock: MockClock,
) -> None:
    second = Diary()
    async with living(Diary()) as alive:
        alive.ref.tell("crash")
        alive.ref.tell("keep me")
        await alive.over.wait()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Life(second, alive.box, alive.journal).run)
            await wait_all_tasks_blocked()
            assert second.pages == ["started", "did keep me"]
            alive.ref.stop("enough")


async def test_a_crash_in_a_signal_handler_is_the_actors_not_the_senders(
    autojump_clock: MockClock,
) -> None:
    async with living(Diary()) as alive:
        assert alive.ref.signal("crash") is False
        await alive.over.wait()
        assert alive.ended is not None
        assert isinstance(alive.ended.error, RuntimeError)


async def test_stop_cuts_work_and_children_then_cleans_up(autojump_clock: MockClock) -> None:
    class Parent(Diary):
        async def started(self) -> None:
            self.spawn(self.tick)

        async def tick(self) -> None:
            try:
                await trio.sleep_forever()
            finally:
                self.pages.append("child gone")

    diary = Parent()
    async with living(diary) as alive:
        alive.ref.tell("slow")
        await wait_all_tasks_blocked()
        alive.ref.stop("enough")
        await alive.over.wait()
        assert sorted(diary.pages[1:3]) == ["child gone", "slow cut: None"]
        assert diary.pages[3:] == ["stopped"]
        assert alive.ended == Ended(How.STOPPED, "enough")


async def test_drain_refuses_new_work_and_finishes_the_rest(autojump_clock: MockClock) -> None:
    class Steady(Diary):
        async def receive(self, message: Any) -> object:
            await trio.sleep(1)
            return await super().receive(message)

    diary = Steady()
    async with living(diary) as alive:
        alive.ref.tell("a")
        alive.ref.tell("b")
        alive.ref.drain("closing")
        with pytest.raises(ActorGone, match="closing"):
            alive.ref.tell("c")
        with pytest.raises(ActorGone, match="closing"):
            await alive.ref.ask("d")
        await alive.over.wait()
        assert diary.pages == ["started", "did a", "did b", "stopped"]
        assert alive.ended == Ended(How.DRAINED, "closing")


async def test_drain_lets_children_finish_and_stop_cuts_it_short(
    autojump_clock: MockClock,
) -> None:
    class Parent(Diary):
        async def started(self) -> None:
            self.spawn(trio.sleep, 100)

    async with living(Parent()) as alive:
        alive.ref.drain("closing")
        await trio.sleep(50)
        assert alive.ended is None
        alive.ref.stop("no more time")
        await alive.over.wait()
        assert alive.ended == Ended(How.STOPPED, "no more time")
        assert trio.current_time() == 50


async def test_clean_up_runs_when_everything_is_cancelled_from_outside(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    box = Mailbox[Any]("diary")
    with trio.move_on_after(1) as outer:
        await Life(diary, box, Journal()).run()
    assert outer.cancelled_caught
    assert diary.pages == ["started", "stopped"]


async def test_a_clean_up_that_hangs_is_cut_after_its_grace(autojump_clock: MockClock) -> None:
    class Clinging(Diary):
        async def stopped(self) -> None:
            await trio.sleep_forever()

    async with living(Clinging(), grace=3) as alive:
        alive.ref.stop("enough")
        await alive.over.wait()
        assert trio.current_time() == 3
        assert "actor.cleanup_cut" in [entry.kind for entry in alive.journal.recent()]


async def test_a_crash_and_a_crash_in_clean_up_are_both_kept(autojump_clock: MockClock) -> None:
    class Clumsy(Diary):
        async def stopped(self) -> None:
            raise OSError("clean-up")

    async with living(Clumsy()) as alive:
        alive.ref.tell("crash")
        await alive.over.wait()
        assert alive.ended is not None
        assert alive.ended.error is not None
        assert [type(cause) for cause in causes(alive.ended.error)] == [ValueError, OSError]


async def test_starting_has_a_deadline(autojump_clock: MockClock) -> None:
    class Stuck(Actor[str]):
        async def started(self) -> None:
            await trio.sleep_forever()

    ended = await Life(Stuck(), Mailbox("stuck"), Journal(), start_within=7).run()
    assert isinstance(ended.error, trio.TooSlowError)
    assert trio.current_time() == 7


async def test_nothing_of_the_spawners_context_reaches_a_child(autojump_clock: MockClock) -> None:
    secret = contextvars.ContextVar("secret", default="nobody")
    seen: list[str] = []

    class Parent(Actor[str]):
        async def receive(self, message: str) -> object:
            secret.set(message)
            self.spawn(self.look)
            return None

        async def look(self) -> None:
            seen.append(secret.get())

    async with living(Parent()) as alive:
        await alive.ref.ask("somebody")
        await wait_all_tasks_blocked()
    assert seen == ["nobody"]


async def test_a_flooded_actor_does_not_starve_the_others(autojump_clock: MockClock) -> None:
    had_its_turns = trio.Event()

    async def quiet() -> None:
        for _ in range(50):
            await trio.lowlevel.checkpoint()
        had_its_turns.set()

    async with living(Diary(), capacity=1000) as alive, trio.open_nursery() as nursery:
        for number in range(1000):
            alive.ref.tell(number)
        nursery.start_soon(quiet)
        await had_its_turns.wait()
        assert alive.ref.depth > 800


async def test_a_crash_in_a_child_task_is_the_actors_crash(autojump_clock: MockClock) -> None:
    class Parent(Diary):
        async def started(self) -> None:
            self.spawn(self.fail)

        async def fail(self) -> None:
            await trio.sleep(1)
            raise KeyError("child")

    async with living(Parent()) as alive:
        await alive.over.wait()
        assert alive.ended is not None
        assert isinstance(alive.ended.error, KeyError)


async def test_a_crash_during_an_outer_cancellation_is_not_masked(
    autojump_clock: MockClock,
) -> None:
    class Clumsy(Diary):
        async def receive(self, message: Any) -> object:
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("hidden bug")

    journal, box = Journal(), Mailbox[Any]("clumsy")
    Ref("clumsy", box)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Life(Clumsy(), box, journal).run)
        box.put("go")
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert [e["error"] for e in journal.recent() if e.kind == "actor.crashed"] == [
        "ValueError('hidden bug')"
    ]
