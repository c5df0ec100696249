"""Retries, fallbacks, deadlines and breakers, on virtual time."""

from __future__ import annotations

import itertools

import msgspec
import pytest
import trio
from trio.testing import MockClock

from adapters.models.guarded import Guard, Route
from adapters.models.resilient import Resilient
from adapters.models.retrying import Policy
from hermes_actors.ports import ModelFailed
from hermes_actors.values import (
    Delta,
    ModelNotice,
    ModelReply,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from tests.adapters.models.doubles import (
    BLOCKED,
    BUSY,
    GONE,
    LOCKED,
    LONG,
    SLOW,
    WRONG,
    ListedModel,
    Turn,
    said,
)
from tests.adapters.models.talk import ask

HELLO = [TextDelta("hello")]


class Chain:
    """A resilient model over listed ones, and what its reader has seen."""

    def __init__(self, *models: ListedModel, policy: Policy | None = None) -> None:
        routes = [
            Route(f"model{number}", model, Guard(), f"m{number}", fixed=number > 0)
            for number, model in enumerate(models)
        ]
        self.seen: list[Delta] = []
        self.model = Resilient(routes, policy, dice=lambda: 0.5)

    async def ask(self, run: str = "r1", model: str = "m", *, fallback: bool = False) -> ModelReply:
        request = msgspec.structs.replace(ask(model=model), run=run, fallback=fallback)
        return await self.model.respond(request, self.seen.append)


async def test_a_failure_that_may_pass_is_tried_again_and_nobody_hears_of_it(
    autojump_clock: MockClock,
) -> None:
    model = ListedModel(BUSY, GONE, said("hello"))
    chain = Chain(model)
    assert (await chain.ask()).text == "hello"
    assert chain.seen == HELLO
    assert [at for at, _ in model.asked] == [0, 1, 3]


async def test_after_the_last_try_every_cause_is_told_once(autojump_clock: MockClock) -> None:
    chain = Chain(ListedModel(BUSY, GONE, GONE))
    with pytest.raises(ModelFailed) as failed:
        await chain.ask()
    assert str(failed.value) == "It is busy. Wait. Nobody is there. Check. (3 tries.)"
    assert failed.value.kind == "overloaded"


@pytest.mark.parametrize("failure", [WRONG, LONG, BLOCKED, LOCKED])
async def test_a_failure_that_cannot_pass_is_told_at_once(
    failure: ModelFailed, autojump_clock: MockClock
) -> None:
    chain = Chain(ListedModel(failure))
    with pytest.raises(ModelFailed) as failed:
        await chain.ask()
    assert (failed.value.kind, str(failed.value)) == (failure.kind, str(failure))
    assert trio.current_time() == 0


async def test_the_wait_that_the_provider_wants_is_kept_and_a_long_one_is_told(
    autojump_clock: MockClock,
) -> None:
    model = ListedModel(SLOW, said("hello"))
    chain = Chain(model)
    await chain.ask()
    assert chain.seen == [ModelNotice("[Too many. Trying again in 21 s.]"), *HELLO]
    assert [at for at, _ in model.asked] == [0, 21]


async def test_an_answer_that_breaks_off_in_front_of_the_reader_says_that_it_begins_again(
    autojump_clock: MockClock,
) -> None:
    half = (TextDelta("hel"), TextDelta("l"), GONE)
    whole = (TextDelta("hel"), TextDelta("lo"), ModelReply("hello"))
    chain = Chain(ListedModel(half, BUSY, whole))
    assert (await chain.ask()).text == "hello"
    assert chain.seen == [
        TextDelta("hel"),
        TextDelta("l"),
        ModelNotice("[It is busy. The answer begins again.]", restarts=True),
        TextDelta("hel"),
        TextDelta("lo"),
    ]


@pytest.mark.parametrize("piece", [ReasoningDelta("hm"), ToolCallDelta(0, "{", "a", "t")])
async def test_pieces_that_nobody_reads_are_taken_back_without_words(
    piece: Delta, autojump_clock: MockClock
) -> None:
    chain = Chain(ListedModel((piece, GONE), said("hello")))
    await chain.ask()
    assert chain.seen == [piece, ModelNotice("", restarts=True), *HELLO]


async def test_pieces_are_taken_back_even_if_the_second_answer_is_empty(
    autojump_clock: MockClock,
) -> None:
    chain = Chain(ListedModel((TextDelta("he"), GONE), ModelReply()))
    await chain.ask()
    again = ModelNotice("[Nobody is there. The answer begins again.]", restarts=True)
    assert chain.seen == [TextDelta("he"), again]


async def test_another_model_takes_over_under_its_own_name_and_the_reader_is_told(
    autojump_clock: MockClock,
) -> None:
    first, second = ListedModel(BUSY, BUSY, GONE), ListedModel(said("hello"))
    chain = Chain(first, second)
    await chain.ask(model="chosen")
    assert chain.seen == [ModelNotice("[Nobody is there. Now answering: model1.]"), *HELLO]
    assert [name for _, name in first.asked + second.asked] == [*["chosen"] * 3, "m1"]


async def test_a_request_that_names_no_model_goes_to_the_one_that_is_set_up(
    autojump_clock: MockClock,
) -> None:
    model = ListedModel(said("hello"))
    await Chain(model).ask(model="")
    assert model.asked == [(0, "m0")]


async def test_a_run_stays_with_the_model_it_was_moved_to_and_others_do_not(
    autojump_clock: MockClock,
) -> None:
    first = ListedModel(LOCKED, said("a"))
    second = ListedModel(said("b"), said("c"))
    chain = Chain(first, second)
    answers = [(await chain.ask(run)).text for run in ("r1", "r1", "r2")]
    assert answers == ["b", "c", "a"]


async def test_with_every_model_failing_the_first_cause_decides_the_kind(
    autojump_clock: MockClock,
) -> None:
    chain = Chain(ListedModel(SLOW), ListedModel(LOCKED), ListedModel(WRONG))
    with pytest.raises(ModelFailed) as failed:
        await chain.ask()
    assert failed.value.kind == "rate_limited"
    words = "Too many. Wait. No entry. Check the key. Wrong. Check. (3 tries.)"
    assert str(failed.value) == words


async def test_a_conversation_that_is_too_long_is_handed_back_whoever_says_so(
    autojump_clock: MockClock,
) -> None:
    with pytest.raises(ModelFailed) as failed:
        await Chain(ListedModel(LOCKED), ListedModel(LONG)).ask()
    assert failed.value.kind == "context_overflow"


async def test_an_answer_that_was_blocked_whole_goes_to_the_next_model(
    autojump_clock: MockClock,
) -> None:
    blocked = ModelReply(finish_reason="content_filter")
    assert (await Chain(ListedModel(blocked), ListedModel(said("hello"))).ask()).text == "hello"
    with pytest.raises(ModelFailed, match="blocked the answer") as failed:
        await Chain(ListedModel(blocked)).ask()
    assert failed.value.kind == "content_filter"
    partly = ModelReply("so far", finish_reason="content_filter")
    assert await Chain(ListedModel(partly)).ask() == partly


async def test_one_deadline_is_over_all_tries_and_waits(autojump_clock: MockClock) -> None:
    chain = Chain(ListedModel((4.0, BUSY), (100.0, ModelReply())), policy=Policy(total=10.0))
    with pytest.raises(ModelFailed, match="No answer within 10s") as failed:
        await chain.ask()
    assert failed.value.kind == "overloaded"
    assert trio.current_time() == 10


async def test_without_a_deadline_an_answer_may_take_for_ever(autojump_clock: MockClock) -> None:
    chain = Chain(ListedModel((1e6, *said("hello"))), policy=Policy(total=float("inf")))
    assert (await chain.ask()).text == "hello"


async def test_five_runs_that_fail_open_the_breaker_and_one_that_works_closes_it(
    autojump_clock: MockClock,
) -> None:
    model = ListedModel(*[GONE] * 5, said("hello"), said("hello"))
    chain = Chain(model, policy=Policy(tries=1))
    for run in "abcde":
        with pytest.raises(ModelFailed, match="Nobody is there"):
            await chain.ask(run)
    with pytest.raises(ModelFailed, match=r"failed 5 times in a row.* again in 60 s"):
        await chain.ask("f")
    assert len(model.asked) == 5
    await trio.sleep(60)
    assert (await chain.ask("f")).text == "hello"
    assert (await chain.ask("g")).text == "hello"


async def test_one_run_however_often_it_tries_does_not_open_the_breaker(
    autojump_clock: MockClock,
) -> None:
    chain = Chain(ListedModel(*[GONE] * 20, said("hello")), policy=Policy(tries=20))
    with pytest.raises(ModelFailed):
        await chain.ask("a")
    assert (await chain.ask("b")).text == "hello"


@pytest.mark.parametrize("failure", [WRONG, LONG, BLOCKED, SLOW])
async def test_what_is_wrong_with_one_request_does_not_open_the_breaker_for_others(
    failure: ModelFailed, autojump_clock: MockClock
) -> None:
    model = ListedModel(*[failure] * 10, said("hello"))
    chain = Chain(model, policy=Policy(tries=1))
    for number in range(10):
        with pytest.raises(ModelFailed):
            await chain.ask(f"r{number}")
    assert (await chain.ask("other")).text == "hello"


async def test_a_cancelled_trial_is_nobodys_failure(autojump_clock: MockClock) -> None:
    model = ListedModel(*[GONE] * 5, (1000.0, ModelReply()), said("hello"))
    chain = Chain(model, policy=Policy(tries=1))
    for run in "abcde":
        with pytest.raises(ModelFailed):
            await chain.ask(run)
    await trio.sleep(60)
    with trio.move_on_after(1):
        await chain.ask("f")
    assert (await chain.ask("g")).text == "hello"


async def test_while_the_breaker_is_open_the_next_model_answers_at_once(
    autojump_clock: MockClock,
) -> None:
    first = ListedModel(*[GONE] * 5)
    second = ListedModel(*[said("hello")] * 6)
    chain = Chain(first, second, policy=Policy(tries=1))
    for number in range(6):
        assert (await chain.ask(f"r{number}")).text == "hello"
    assert [at for at, _ in first.asked] == [0] * 5
    assert [at for at, _ in second.asked] == [0] * 6


async def test_cancelled_in_a_wait_or_in_an_answer_nothing_follows(
    autojump_clock: MockClock,
) -> None:
    turns: Turn = (TextDelta("he"), 5.0, GONE)
    for patience in (1.0, 5.5):
        chain = Chain(ListedModel(turns, said("hello")))
        with trio.move_on_after(patience):
            await chain.ask()
        await trio.sleep(100)
        assert chain.seen == [TextDelta("he")]


async def test_a_reader_that_fails_is_not_taken_for_a_model_that_does(
    autojump_clock: MockClock,
) -> None:
    model = ListedModel(said("hello"))
    chain = Chain(model)

    def refuse(delta: Delta) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await chain.model.respond(ask(), refuse)
    assert len(model.asked) == 1


async def test_only_so_many_runs_are_remembered(autojump_clock: MockClock) -> None:
    first = ListedModel(*itertools.repeat(LOCKED, 5000))
    chain = Chain(first, ListedModel(*[said("b")] * 5001))
    for number in range(5000):
        await chain.ask(f"r{number}")
    assert len(chain.model._moved) == 4096


def test_a_chain_of_no_models_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Resilient([])


async def test_a_wish_for_another_model_is_granted_as_long_as_there_is_one(
    autojump_clock: MockClock,
) -> None:
    chain = Chain(ListedModel(said("one")), ListedModel(said("two"), said("three"), said("four")))
    assert (await chain.ask()).text == "one"
    assert (await chain.ask(fallback=True)).text == "two"
    assert (await chain.ask()).text == "three"  # the run stays where it was moved to
    assert (await chain.ask(fallback=True)).text == "four"  # there is no third
