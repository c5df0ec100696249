from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import ActorGone, MailboxFull
from hermes_actors.runtime import Mailbox, System


async def parked(box: Mailbox[str], *texts: str, nursery: trio.Nursery) -> None:
    """Let one asker per text queue up, in this order."""
    for text in texts:
        nursery.start_soon(box.put_question, text)
        await wait_all_tasks_blocked()


def test_a_box_without_room_is_refused_when_it_is_made() -> None:
    with pytest.raises(ValueError, match="needs room for one message, not for 0"):
        Mailbox("tiny", 0)


async def test_first_in_first_out_and_never_more_than_its_capacity(
    autojump_clock: MockClock,
) -> None:
    box = Mailbox[str]("box", 2)
    box.put("a")
    box.put("b")
    with pytest.raises(MailboxFull):
        box.put("c")
    assert [(await box.take()).message, (await box.take()).message] == ["a", "b"]
    assert (len(box), box.peak) == (0, 2)


async def test_a_parked_asker_moves_up_before_a_later_tell(autojump_clock: MockClock) -> None:
    box = Mailbox[str]("box", 1)
    async with trio.open_nursery() as nursery:
        box.put("a")
        await parked(box, "parked", nursery=nursery)
        assert (await box.take()).message == "a"
        with pytest.raises(MailboxFull):
            box.put("pushing in")
        assert (await box.take()).message == "parked"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("leaver", [0, 1, 2])
async def test_whoever_leaves_the_queue_leaves_the_others_in_order(
    leaver: int, autojump_clock: MockClock
) -> None:
    box, scopes = Mailbox[str]("box", 1), [trio.CancelScope() for _ in range(3)]

    async def ask(number: int) -> None:
        with scopes[number]:
            await box.put_question(str(number))

    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(ask, number)
            await wait_all_tasks_blocked()
        scopes[leaver].cancel()
        await wait_all_tasks_blocked()
        assert len(box) == 2
        left = [(await box.take()).message for _ in range(2)]
        assert left == [str(number) for number in range(3) if number != leaver]
        nursery.cancel_scope.cancel()


async def test_taking_several_lets_as_many_move_up(autojump_clock: MockClock) -> None:
    box = Mailbox[str]("box", 2)
    async with trio.open_nursery() as nursery:
        await parked(box, *"abcde", nursery=nursery)
        assert [envelope.message for envelope in box.take_more(2)] == ["a", "b"]
        assert [envelope.message for envelope in box.take_more(9)] == ["c", "d"]
        assert [envelope.message for envelope in box.take_more(9)] == ["e"]
        nursery.cancel_scope.cancel()


async def test_draining_a_box_takes_out_the_parked_askers_too(autojump_clock: MockClock) -> None:
    box = Mailbox[str]("box", 1)
    async with trio.open_nursery() as nursery:
        await parked(box, *"abc", nursery=nursery)
        assert [envelope.message for envelope in box.drain()] == ["a", "b", "c"]
        assert len(box) == 0
        nursery.cancel_scope.cancel()


async def test_closing_answers_everyone_in_the_lane_and_in_the_queue_before_it(
    autojump_clock: MockClock,
) -> None:
    box, told = Mailbox[str]("box", 1), list[str]()

    async def ask(text: str) -> None:
        with pytest.raises(ActorGone, match="over"):
            await box.put_question(text)
        told.append(text)

    async with trio.open_nursery() as nursery:
        for text in "abc":
            nursery.start_soon(ask, text)
            await wait_all_tasks_blocked()
        System().retire(box, "over")
    assert sorted(told) == ["a", "b", "c"]


async def test_asking_a_closed_box_is_answered_at_once_and_starves_nobody(
    autojump_clock: MockClock,
) -> None:
    box, turns = Mailbox[str]("box"), list[int]()
    box.close("over")

    async def insist() -> None:
        while len(turns) < 3:
            with pytest.raises(ActorGone):
                await box.put_question("hello?")

    async def others() -> None:
        for turn in range(3):
            turns.append(turn)
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(insist)
        nursery.start_soon(others)
    assert turns == [0, 1, 2]


async def test_the_age_of_the_oldest_message_is_known(autojump_clock: MockClock) -> None:
    box = Mailbox[str]("box")
    assert box.oldest is None
    await trio.sleep(3)
    box.put("a")
    await trio.sleep(4)
    box.put("b")
    assert box.oldest == 3


async def test_who_waits_for_the_end_is_told_the_reason(autojump_clock: MockClock) -> None:
    box, reasons = Mailbox[str]("box"), list[str]()

    async def join() -> None:
        reasons.append(await box.wait_closed())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(join)
        nursery.start_soon(join)
        await wait_all_tasks_blocked()
        box.close("worn out")
    assert [*reasons, await box.wait_closed()] == ["worn out"] * 3
