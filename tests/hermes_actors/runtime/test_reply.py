from __future__ import annotations

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.errors import Refusal
from hermes_actors.runtime import Actor, Reply
from tests.hermes_actors.runtime.actors import Diary, living


class Keeper(Actor[str]):
    """Keeps every question open, so that the test can settle it."""

    def __init__(self) -> None:
        self.kept: list[Reply] = []

    async def receive(self, message: str) -> None:
        reply = self.reply_later()
        assert reply is not None
        self.kept.append(reply)


async def test_the_first_answer_counts_even_before_the_asker_has_run(
    autojump_clock: MockClock,
) -> None:
    keeper, answers = Keeper(), list[object]()
    async with living(keeper) as alive, trio.open_nursery() as nursery:

        async def ask() -> None:
            answers.append(await alive.ref.ask("question"))

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        (reply,) = keeper.kept
        assert [reply.answer("first"), reply.answer("second")] == [True, False]
        assert reply.refuse(Refusal("third")) is False
    assert answers == ["first"]


async def test_an_asker_that_is_already_cancelled_takes_its_question_back(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with living(diary) as alive:
        with trio.CancelScope() as scope:
            scope.cancel()
            await alive.ref.ask("never begins")
        await wait_all_tasks_blocked()
        assert alive.ref.depth == 0
        assert await alive.ref.ask("next") == "NEXT"
    assert diary.pages[:2] == ["started", "did next"]


async def test_work_that_ends_before_it_notices_an_interrupt_leaves_the_next_piece_alone(
    autojump_clock: MockClock,
) -> None:
    class Careless(Actor[str]):
        async def receive(self, message: str) -> str:
            if message == "cut me":
                assert self.ref.interrupt("from inside") is True
                return "done all the same"
            await trio.sleep(1)
            return f"{message}, {self.interrupted_by}"

    async with living(Careless()) as alive:
        alive.ref.tell("cut me")
        assert await alive.ref.ask("queued") == "queued, None"
