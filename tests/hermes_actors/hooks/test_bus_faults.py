"""Handlers that misbehave: each in every way, on every kind of hook.

The claims are always the same: the caller is back within the budget, no handler's exception
reaches it, the neighbours are heard, a policy that fails is an objection, a text that cannot be
transformed stays as it is, and the bus itself comes to an end (`World.during` waits for it).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from .doubles import CHOICE, DISPATCH, PROMPT, REPLY, STOPPED, TOOL, Shielder, World
from .misdeeds import (
    Handler,
    Spinning,
    cancel_a_nursery,
    cancelling_its_nursery,
    every_fault,
    hanging,
    raising,
    returning_garbage,
)


@every_fault
async def test_an_observer_that_fails_costs_its_budget_and_silences_nobody(
    make: Callable[[MockClock], Handler], reason: str, cost: float, autojump_clock: MockClock
) -> None:
    world, handler = World(), make(autojump_clock)

    async def neighbour(**_: Any) -> None:
        world.log.append("heard")

    async def story() -> None:
        await world.bus.fire(STOPPED)
        assert trio.current_time() == pytest.approx(cost)
        assert (world.log, world.reasons()) == (["heard"], [reason])

    world.on("agent_loop_stopped", handler)
    world.on("agent_loop_stopped", neighbour)
    await world.during(story)
    assert world.left_behind == 0


@every_fault
async def test_a_policy_that_fails_is_an_objection_with_its_name_on_it(
    make: Callable[[MockClock], Handler], reason: str, cost: float, autojump_clock: MockClock
) -> None:
    world, handler = World(), make(autojump_clock)

    async def story() -> None:
        decision = await world.bus.decide(TOOL)
        assert trio.current_time() == pytest.approx(cost)
        assert (decision.action, decision.failed_closed) == ("block", True)
        assert decision.by in decision.message
        assert reason in decision.message
        assert world.kinds() == ["hook.failed", "hook.failed_closed"]

    world.on("pre_tool_call", handler)
    await world.during(story)


@every_fault
async def test_a_transformation_that_fails_leaves_the_text_to_the_next(
    make: Callable[[MockClock], Handler], reason: str, cost: float, autojump_clock: MockClock
) -> None:
    world, handler = World(), make(autojump_clock)

    async def polite(response_text: str) -> str:
        return f"{response_text}, please"

    async def story() -> None:
        assert await world.bus.transform(REPLY) == "hello, please"
        assert trio.current_time() == pytest.approx(cost)
        assert world.reasons() == [reason]

    world.on("transform_llm_output", handler)
    world.on("transform_llm_output", polite)
    await world.during(story)


@every_fault
async def test_a_message_is_not_dispatched_past_a_policy_that_fails(
    make: Callable[[MockClock], Handler], reason: str, cost: float, autojump_clock: MockClock
) -> None:
    world, handler = World(), make(autojump_clock)

    async def story() -> None:
        decision = await world.bus.decide(DISPATCH)
        assert trio.current_time() == pytest.approx(cost)
        assert (decision.action, decision.failed_closed) == ("skip", True)

    world.on("pre_gateway_dispatch", handler)
    await world.during(story)


@every_fault
async def test_a_failure_among_those_who_add_to_the_prompt_adds_nothing_and_keeps_the_rest(
    make: Callable[[MockClock], Handler], reason: str, cost: float, autojump_clock: MockClock
) -> None:
    world, handler = World(), make(autojump_clock)

    async def memory(**_: Any) -> str:
        return "likes tea"

    async def story() -> None:
        assert await world.bus.transform(PROMPT) == "likes tea"
        assert trio.current_time() == pytest.approx(cost)
        assert world.reasons() == [reason]

    world.on("pre_llm_call", handler)
    world.on("pre_llm_call", memory)
    await world.during(story)


@every_fault
async def test_a_selection_that_fails_is_no_choice_and_the_next_one_chooses(
    make: Callable[[MockClock], Handler], reason: str, cost: float, autojump_clock: MockClock
) -> None:
    world, handler = World(), make(autojump_clock)

    async def coder(**_: Any) -> str:
        return "coder"

    async def story() -> None:
        assert await world.bus.select(CHOICE) == "coder"
        assert trio.current_time() == pytest.approx(cost)
        assert world.reasons() == [reason]

    world.on("select_agent", handler)
    world.on("select_agent", coder)
    await world.during(story)


@pytest.mark.parametrize("answer", [42, "block", {"action": "explode"}, {"action": 1}, {}, []])
async def test_nonsense_from_a_policy_is_an_objection(answer: object) -> None:
    world = World()

    async def policy(**_: Any) -> object:
        return answer

    world.on("pre_tool_call", policy)
    decision = await world.bus.decide(TOOL)
    assert (decision.action, decision.failed_closed) == ("block", True)


async def test_nonsense_from_a_transformation_is_a_failure_and_from_an_observer_is_ignored() -> (
    None
):
    world = World()
    world.on("transform_llm_output", returning_garbage)
    world.on("pre_llm_call", returning_garbage)
    world.on("agent_loop_stopped", returning_garbage)
    assert await world.bus.transform(REPLY) is None
    assert await world.bus.transform(PROMPT) is None
    await world.bus.fire(STOPPED)
    assert world.reasons() == ["returned int; expected a text or None"] * 2


async def test_an_async_handler_hidden_in_a_plain_function_is_reported() -> None:
    world = World()
    world.on("agent_loop_stopped", lambda **_: hanging())
    await world.bus.fire(STOPPED)
    assert world.reasons() == ["returned a coroutine; write the handler as 'async def'"]


async def test_the_journal_names_type_and_place_and_never_the_words_of_an_error() -> None:
    world = World()
    world.on("agent_loop_stopped", raising)
    await world.bus.fire(STOPPED)
    _, entry = world.journal.recent()
    assert (entry["reason"], entry["handler"]) == ("raised ValueError", "test/raising")
    assert entry["place"].startswith("misdeeds.py:")
    assert "words of a user" not in repr(entry)


@pytest.mark.parametrize("running", [True, False])
async def test_an_observer_that_fires_its_own_hook_does_not_hear_itself(running: bool) -> None:
    world = World()

    async def reentrant(**_: Any) -> None:
        world.log.append("reentrant")
        await world.bus.fire(STOPPED)

    async def neighbour(**_: Any) -> None:
        world.log.append("neighbour")

    async def story() -> None:
        await world.bus.fire(STOPPED)

    world.on("agent_loop_stopped", reentrant)
    world.on("agent_loop_stopped", neighbour)
    await (world.during(story) if running else story())
    assert sorted(world.log) == ["neighbour", "neighbour", "reentrant"]
    assert world.reasons() == ["is at work on this already"]


async def test_a_policy_that_needs_its_own_consent_does_not_get_it() -> None:
    world = World()

    async def reentrant(**_: Any) -> None:
        world.log.append((await world.bus.decide(TOOL)).action)

    world.on("pre_tool_call", reentrant)
    assert (await world.bus.decide(TOOL)).allowed
    assert world.log == ["block"]


async def test_a_transformation_that_transforms_is_not_asked_again() -> None:
    world = World()

    async def reentrant(**_: Any) -> str:
        return f"inner: {await world.bus.transform(REPLY)}"

    world.on("transform_llm_output", reentrant)
    assert await world.bus.transform(REPLY) == "inner: None"


async def test_a_handler_that_cancels_its_caller_does_not_reach_a_shielded_hook(
    autojump_clock: MockClock,
) -> None:
    world, outer = World(), trio.CancelScope()

    async def saboteur(**_: Any) -> None:
        outer.cancel()

    async def neighbour(**_: Any) -> None:
        await trio.sleep(1)
        world.log.append("heard")

    async def story() -> None:
        with outer, trio.move_on_after(5, shield=True):
            await world.bus.fire(STOPPED)
            world.log.append("fired")

    world.on("agent_loop_stopped", saboteur)
    world.on("agent_loop_stopped", neighbour)
    await world.during(story)
    assert world.log == ["heard", "fired"]


@pytest.mark.parametrize("kind", ["policy", "transform", "observer"])
async def test_a_caller_that_is_cancelled_leaves_at_once_and_nobody_is_blamed(
    kind: str, autojump_clock: MockClock
) -> None:
    world = World()
    ask: dict[str, Callable[[], Awaitable[object]]] = {
        "policy": lambda: world.bus.decide(TOOL),
        "transform": lambda: world.bus.transform(REPLY),
        "observer": lambda: world.bus.fire(STOPPED),
    }

    async def hangs(**_: Any) -> None:
        try:
            await trio.sleep_forever()
        finally:
            world.log.append("cancelled")

    async def story() -> None:
        with trio.move_on_after(1) as scope:
            await ask[kind]()
        assert scope.cancelled_caught
        assert trio.current_time() == 1
        await trio.testing.wait_all_tasks_blocked()
        assert world.log == ["cancelled"]
        assert world.kinds() == ["hook.not_run"]

    for hook in ("pre_tool_call", "transform_llm_output", "agent_loop_stopped"):
        world.on(hook, hangs)
    await world.during(story)


async def raising_a_cancellation_that_it_kept(**_: Any) -> None:
    with trio.CancelScope() as own:
        own.cancel()
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as cancelled:
            kept = cancelled
            raise
    raise kept


async def leaving_a_scope_open(**_: Any) -> None:
    trio.CancelScope().__enter__()


@pytest.mark.parametrize(
    "saboteur",
    [cancelling_its_nursery, raising_a_cancellation_that_it_kept, leaving_a_scope_open],
)
@pytest.mark.parametrize("running", [True, False])
async def test_a_handler_that_tears_at_its_surroundings_ends_nobody_but_itself(
    saboteur: Handler, running: bool, autojump_clock: MockClock
) -> None:
    world = World()

    async def neighbour(**_: Any) -> None:
        await trio.sleep(1)
        world.log.append("heard")

    async def story() -> None:
        await world.bus.fire(STOPPED)
        await world.bus.fire(STOPPED)
        assert trio.current_time() == 2

    world.on("agent_loop_stopped", saboteur)
    world.on("agent_loop_stopped", neighbour)
    await (world.during(story) if running else story())
    assert world.log == ["heard", "heard"]


async def test_a_handler_that_reaches_for_the_nursery_of_all_does_not_make_the_bus_homeless(
    autojump_clock: MockClock,
) -> None:
    world = World()

    async def saboteur(**_: Any) -> None:
        cancel_a_nursery(1)
        await trio.lowlevel.checkpoint()

    async def story() -> None:
        await world.bus.fire(STOPPED)
        await trio.testing.wait_all_tasks_blocked()
        world.on("pre_tool_call", Shielder())
        # Only in a nursery of the bus can a shielded handler be left behind.
        await world.bus.decide(TOOL)
        assert trio.current_time() == 2
        assert world.left_behind == 1

    world.on("agent_loop_stopped", saboteur)
    await world.during(story)


async def test_who_is_late_because_another_held_the_event_loop_is_not_blamed(
    autojump_clock: MockClock,
) -> None:
    world = World(failures=1)

    async def neighbour(**_: Any) -> None:
        await trio.sleep(0.5)
        await trio.sleep(0.5)

    async def story() -> None:
        await world.bus.fire(STOPPED)
        assert sorted(world.reasons()) == [
            "held the event loop for more than 2 s",
            "was held up by another handler",
        ]
        spinning, innocent = world.bus.health()
        assert (spinning.switched_off, innocent.switched_off) == (True, False)

    world.on("agent_loop_stopped", Spinning(autojump_clock))
    world.on("agent_loop_stopped", neighbour)
    await world.during(story)


async def test_who_tries_to_end_the_process_has_failed() -> None:
    world = World()

    async def exits(**_: Any) -> None:
        raise SystemExit(3)

    def exits_in_a_thread(**_: Any) -> None:
        raise SystemExit(3)

    async def exits_in_a_group(**_: Any) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(exits)
            nursery.start_soon(trio.sleep_forever)

    async def story() -> None:
        await world.bus.fire(STOPPED)

    for handler in (exits, exits_in_a_thread, exits_in_a_group):
        world.on("agent_loop_stopped", handler)
    await world.during(story)
    assert sorted(world.reasons()) == [
        "raised BaseExceptionGroup",
        "raised SystemExit",
        "raised SystemExit",
    ]


async def test_what_is_not_an_error_is_not_caught() -> None:
    world = World()

    async def exits(**_: Any) -> None:
        raise KeyboardInterrupt

    world.on("agent_loop_stopped", exits)
    with pytest.RaisesGroup(KeyboardInterrupt, flatten_subgroups=True):
        await world.bus.fire(STOPPED)
