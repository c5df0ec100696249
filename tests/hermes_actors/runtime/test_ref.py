from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import ActorGone
from hermes_actors.runtime import Down, Mailbox, Ref, System
from tests.hermes_actors.runtime.actors import Diary, living


def test_refs_are_equal_when_they_lead_to_the_same_place() -> None:
    box, other = Mailbox[Any]("a"), Mailbox[Any]("a")
    assert Ref("a", box) == Ref("a", box)
    assert len({Ref("a", box), Ref("a", box), Ref("a", other)}) == 2
    assert Ref("a", box) != "a"


async def test_a_watch_can_be_taken_back_with_any_ref_to_the_same_watcher(
    autojump_clock: MockClock,
) -> None:
    diary, system = Diary(), System()
    async with living(diary) as alive:
        box = Mailbox[Any]("watched")
        watched = Ref("watched", box)
        watched.watch(alive.ref)
        watched.watch(alive.ref)
        watched.unwatch(Ref("diary", alive.box))
        system.retire(box, "worn out")
        assert diary.pages == ["started", f"heard {Down('watched', 'worn out')}"]


async def test_unwatching_what_was_never_watched_or_is_over_does_nothing(
    autojump_clock: MockClock,
) -> None:
    async with living(Diary()) as alive:
        Ref("other", Mailbox[Any]("other")).unwatch(alive.ref)
        Ref("never", None).unwatch(alive.ref)


async def test_a_watcher_that_is_gone_or_crashes_keeps_nobody_else_from_hearing(
    autojump_clock: MockClock,
) -> None:
    class Fragile(Diary):
        def on_signal(self, message: object) -> None:
            raise ValueError("cannot bear it")

    calm, box = Diary(), Mailbox[Any]("watched")
    async with living(calm) as one, living(Fragile()) as two:
        for watcher in (Ref("gone", Mailbox[Any]("gone")), two.ref, one.ref):
            Ref("watched", box).watch(watcher)
        System().retire(box, "over")
        assert calm.pages[-1] == f"heard {Down('watched', 'over')}"
        await two.over.wait()


async def test_an_address_that_was_never_started_answers_at_once(
    autojump_clock: MockClock,
) -> None:
    ref: Ref[Any] = Ref("never", None)
    with pytest.raises(ActorGone, match="never started"):
        ref.tell("x")
    with pytest.raises(ActorGone, match="never started"):
        await ref.ask("x")
    assert (ref.alive, ref.depth, ref.signal("x"), ref.interrupt("x")) == (False, 0, False, False)
    ref.stop("x")
    ref.drain("x")
    assert await ref.joined() == "not running"


async def test_refusals_of_an_ask_pass_a_checkpoint_so_that_a_loop_can_be_cancelled(
    autojump_clock: MockClock,
) -> None:
    ref: Ref[Any] = Ref("never", None)
    with trio.CancelScope() as scope:
        scope.cancel()
        await ref.ask("x")
    assert scope.cancelled_caught
    with trio.CancelScope() as scope:
        scope.cancel()
        await ref.joined()
    assert scope.cancelled_caught


async def test_joined_waits_for_the_end_for_good_not_for_the_end_of_one_life(
    autojump_clock: MockClock,
) -> None:
    reasons: list[str] = []
    async with living(Diary()) as alive, trio.open_nursery() as nursery:

        async def join() -> None:
            reasons.append(await alive.ref.joined())

        nursery.start_soon(join)
        alive.ref.stop("this life")
        await alive.over.wait()
        await wait_all_tasks_blocked()
        assert reasons == []
        System().retire(alive.box, "for good")
    assert reasons == ["for good"]
