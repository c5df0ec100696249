"""Handlers that misbehave: each in every way, on every kind of hook.

The claims are always the same: the caller is back within the budget, no handler's exception
reaches it, the neighbours are heard, a policy that fails is an objection, a text that cannot be
transformed stays as it is, and the bus itself comes to an end (`World.during` waits for it).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from .doubles import PROMPT, REPLY, STOPPED, TOOL, Shielder, Swallower, World

Handler = Callable[..., Awaitable[Any]]


async def raising(**_: Any) -> None:
    raise ValueError("words of a user")


async def raising_a_group(**_: Any) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(raising)
        nursery.start_soon(trio.sleep_forever)


async def hanging(**_: Any) -> None:
    await trio.sleep_forever()


async def failing_when_cancelled(**_: Any) -> None:
    try:
        await trio.sleep_forever()
    finally:
        raise ValueError("clean-up failed")


async def returning_garbage(**_: Any) -> object:
    return 42


async def returning_although_cancelled(**_: Any) -> object:
    try:
        await trio.sleep_forever()
    except trio.Cancelled:  # noqa: ASYNC103  the misbehaviour under test
        return {"action": "allow"}  # noqa: ASYNC104


class Spinning:
    """Computes for three seconds without ever letting the event loop go."""

    def __init__(self, clock: MockClock) -> None:
        self._clock = clock

    async def __call__(self, **_: Any) -> object:
        self._clock.jump(3)
        return None


class SwallowingInItsOwnNursery:
    """Cannot be let go while it has children."""

    async def __call__(self, **_: Any) -> None:
        async with trio.open_nursery():
            for _attempt in range(150):
                with contextlib.suppress(trio.Cancelled):  # the misbehaviour under test
                    await trio.sleep_forever()


FAULTS: dict[str, tuple[Callable[[MockClock], Handler], str, float]] = {
    "raise": (lambda _: raising, "raised ValueError", 0),
    "raise a group": (lambda _: raising_a_group, "raised ExceptionGroup", 0),
    "hang": (lambda _: hanging, "gave no answer within 2 s", 1.9),
    "fail in clean-up": (lambda _: failing_when_cancelled, "gave no answer within 2 s", 1.9),
    "answer too late": (lambda _: returning_although_cancelled, "gave no answer within 2 s", 1.9),
    "spin": (Spinning, "held the event loop for more than 2 s", 3),
    "swallow": (lambda _: Swallower(), "ignored its cancellation", 1.9),
    "swallow with children": (
        lambda _: SwallowingInItsOwnNursery(),
        "gave no answer within 2 s",
        2.0,
    ),
    "shield": (lambda _: Shielder(), "gave no answer within 2 s", 2.0),
}
every_fault = pytest.mark.parametrize(("make", "reason", "cost"), FAULTS.values(), ids=FAULTS)


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
    assert entry["place"].startswith("test_bus_faults.py:")
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


async def test_a_handler_that_cancels_the_nursery_it_lives_in_does_not_make_the_bus_homeless(
    autojump_clock: MockClock,
) -> None:
    world = World()

    async def saboteur(**_: Any) -> None:
        nursery = trio.lowlevel.current_task().parent_nursery
        assert nursery is not None
        nursery.cancel_scope.cancel()
        await trio.lowlevel.checkpoint()

    async def story() -> None:
        await world.bus.fire(STOPPED)
        await trio.testing.wait_all_tasks_blocked()
        world.on("agent_loop_completed", lambda **_: None)
        world.on("pre_tool_call", Shielder())
        # Only in a nursery of the bus can a shielded handler be left behind.
        await world.bus.decide(TOOL)
        assert trio.current_time() == 2
        assert world.left_behind == 1

    world.on("agent_loop_stopped", saboteur)
    await world.during(story)


async def test_policies_and_transformations_share_five_seconds(autojump_clock: MockClock) -> None:
    world = World()
    for _ in range(4):
        world.on("transform_llm_output", hanging)
    assert await world.bus.transform(REPLY) is None
    assert trio.current_time() == pytest.approx(1.9 + 1.9 + 1.1 + 0.075)
    assert world.reasons()[:2] == ["gave no answer within 2 s"] * 2
    assert "no time was left for it" not in world.reasons()[:3]


async def test_a_policy_for_which_no_time_is_left_objects(autojump_clock: MockClock) -> None:
    world = World(each=2.0, together=1.0)

    async def slow(**_: Any) -> None:
        autojump_clock.jump(0.95)

    async def unheard(**_: Any) -> None:
        world.log.append("asked")
        autojump_clock.jump(0.05)

    async def never(**_: Any) -> None:
        world.log.append("never")

    for policy in (slow, unheard, never):
        world.on("pre_tool_call", policy)
    decision = await world.bus.decide(TOOL)
    assert decision.failed_closed
    assert "never" not in world.log


async def test_twenty_bad_handlers_never_delay_a_stop_beyond_the_budget(
    autojump_clock: MockClock,
) -> None:
    world, shielders = World(), [Shielder() for _ in range(5)]
    swallowers = [Swallower() for _ in range(5)]
    bad: list[Handler] = [*shielders, *swallowers, *[raising] * 5, *[hanging] * 5]

    async def story() -> None:
        await world.bus.fire(STOPPED)
        assert trio.current_time() == 2
        assert world.left_behind == 5

    for handler in bad:
        world.on("agent_loop_stopped", handler)
    await world.during(story)
    assert [s.swallowed for s in swallowers] == [100] * 5


async def test_a_handler_that_refuses_even_to_be_closed_is_counted_for_ever(
    autojump_clock: MockClock,
) -> None:
    world, stubborn = World(failures=1, cool_down=60), Swallower(BaseException)

    async def story() -> None:
        await world.bus.fire(STOPPED)
        assert trio.current_time() == pytest.approx(1.9)
        assert world.left_behind == 1
        await trio.sleep(1000)
        await world.bus.fire(STOPPED)  # no trial beside what never went away
        assert trio.current_time() == pytest.approx(1001.9)

    world.on("agent_loop_stopped", stubborn)
    await world.during(story)
    assert world.kinds() == ["hook.failed", "hook.switched_off"]
    stubborn.released = True


async def test_a_hook_in_flight_survives_the_end_of_everything(autojump_clock: MockClock) -> None:
    world = World()

    async def slow(**_: Any) -> None:
        await trio.sleep(1)
        world.log.append("heard")

    async def last_words() -> None:
        try:
            await trio.sleep_forever()
        finally:
            with trio.move_on_after(5, shield=True):
                await world.bus.fire(STOPPED)

    async def in_flight() -> None:
        with trio.CancelScope(shield=True):
            await world.bus.fire(STOPPED)

    world.on("agent_loop_stopped", slow)
    async with trio.open_nursery() as nursery:
        for task in (world.bus.run, last_words, in_flight):
            nursery.start_soon(task)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert world.log == ["heard", "heard"]
    assert trio.current_time() == 1


async def test_the_bus_ends_within_its_linger_although_a_handler_hangs(
    autojump_clock: MockClock,
) -> None:
    world = World(each=100, together=5)

    async def in_flight() -> None:
        with trio.CancelScope(shield=True):
            await world.bus.fire(STOPPED)

    world.on("agent_loop_stopped", hanging)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.bus.run)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(in_flight)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert trio.current_time() == pytest.approx(4.9)


async def test_the_fifth_failure_switches_a_handler_off_and_one_trial_decides(
    autojump_clock: MockClock,
) -> None:
    world, broken = World(), True

    async def flaky(**_: Any) -> None:
        world.log.append("called")
        if broken:
            raise ValueError

    async def fire_at(moment: float) -> int:
        await trio.sleep(moment - trio.current_time())
        await world.bus.fire(STOPPED)
        return len(world.log)

    world.on("agent_loop_stopped", flaky)
    assert [await fire_at(0) for _ in range(7)] == [1, 2, 3, 4, 5, 5, 5]
    assert world.kinds() == ["hook.failed"] * 5 + ["hook.switched_off"]
    assert world.bus.health()[0].switched_off
    assert [await fire_at(t) for t in (59.9, 60, 60, 119.9)] == [5, 6, 6, 6]
    broken = False
    assert [await fire_at(t) for t in (120, 120, 120)] == [7, 8, 9]
    assert world.kinds()[6:] == ["hook.failed", "hook.switched_off", "hook.switched_on"]
    assert not world.bus.health()[0].switched_off


async def test_a_policy_that_is_switched_off_goes_on_objecting_and_says_so(
    autojump_clock: MockClock,
) -> None:
    world = World()
    world.on("pre_tool_call", raising)
    for _ in range(5):
        await world.bus.decide(TOOL)
    decision = await world.bus.decide(TOOL)
    assert decision.failed_closed
    assert "is switched off" in decision.message
    assert world.kinds()[-1] == "hook.failed_closed"


async def test_a_cancelled_trial_is_not_a_verdict(autojump_clock: MockClock) -> None:
    world = World(failures=1, cool_down=60)
    world.on("agent_loop_stopped", hanging)
    await world.bus.fire(STOPPED)
    await trio.sleep(60)
    with trio.move_on_after(1):
        await world.bus.fire(STOPPED)
    began = trio.current_time()
    await world.bus.fire(STOPPED)  # the trial is still to be had
    assert trio.current_time() - began == pytest.approx(1.9)


class StuckThreads:
    """Plain handlers that stay in their threads until released. Real threads, so a real clock."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.calls = 0

    def __call__(self, **_: Any) -> None:
        self.calls += 1
        self.gate.wait()


async def test_threads_that_never_come_back_are_counted_and_capped() -> None:
    world, stuck = World(each=0.15, threads=2, failures=100), StuckThreads()

    async def story() -> None:
        for _ in range(4):
            await world.bus.fire(STOPPED)
        assert stuck.calls == 2
        assert world.left_behind == 2
        assert world.kinds() == ["hook.failed"] * 2 + ["hook.not_run"] * 2
        assert world.reasons()[2:] == ["no thread was free"] * 2
        decision = await world.bus.decide(TOOL)
        assert decision.failed_closed
        stuck.gate.set()

    world.on("agent_loop_stopped", stuck)
    world.on("pre_tool_call", lambda **_: None)
    await world.during(story)


async def test_a_call_given_up_while_it_waits_for_a_thread_never_touches_the_handler() -> None:
    world, stuck = World(each=0.15, threads=1, failures=100), StuckThreads()

    async def story() -> None:
        await world.bus.fire(STOPPED)  # both want the only thread
        assert stuck.calls == 1
        assert sorted(world.kinds()) == ["hook.failed", "hook.not_run"]
        stuck.gate.set()

    world.on("agent_loop_stopped", stuck)
    world.on("agent_loop_stopped", stuck)
    await world.during(story)
    assert stuck.calls == 1


async def test_a_plain_handler_that_raises_is_treated_like_any_other() -> None:
    world = World()

    def plain(**_: Any) -> None:
        raise ValueError

    world.on("pre_tool_call", plain)
    assert (await world.bus.decide(TOOL)).failed_closed
    assert world.reasons() == ["raised ValueError"] * 2


async def test_what_is_not_an_error_is_not_caught() -> None:
    world = World()

    async def exits(**_: Any) -> None:
        raise KeyboardInterrupt

    world.on("agent_loop_stopped", exits)
    with pytest.RaisesGroup(KeyboardInterrupt, flatten_subgroups=True):
        await world.bus.fire(STOPPED)
