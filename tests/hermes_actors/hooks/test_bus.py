"""What the bus does with handlers that behave."""

from __future__ import annotations

import functools
import json
import threading
from contextvars import ContextVar
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from hermes_actors.hooks import ALLOW, Decision
from hermes_actors.hooks.events import CancelledCall

from .doubles import CHOICE, DISPATCH, PROMPT, REPLY, STOPPED, TOOL, World


async def test_observers_run_side_by_side_and_fire_waits_for_all(
    autojump_clock: MockClock,
) -> None:
    world = World()

    async def slow(**_: Any) -> None:
        await trio.sleep(1)
        world.log.append("slow")

    async def slower(**_: Any) -> None:
        await trio.sleep(1.5)
        world.log.append("slower")

    async def story() -> None:
        await world.bus.fire(STOPPED)
        assert world.log == ["slow", "slower"]
        assert trio.current_time() == 1.5

    world.on("agent_loop_stopped", slower)
    world.on("agent_loop_stopped", slow)
    await world.during(story)
    assert world.kinds() == []


async def test_a_hook_that_nobody_listens_to_allows_and_changes_nothing() -> None:
    world = World()
    await world.bus.fire(STOPPED)
    assert await world.bus.decide(TOOL) == ALLOW
    assert await world.bus.transform(REPLY) is None
    assert await world.bus.transform(PROMPT) is None
    assert await world.bus.select(CHOICE) is None


async def test_a_handler_gets_the_arguments_it_names_and_one_with_kwargs_gets_all() -> None:
    world = World()
    seen: dict[str, object] = {}

    async def picky(session_key: str, cause: str) -> None:
        seen["picky"] = session_key, cause

    async def greedy(**everything: Any) -> None:
        seen["greedy"] = everything

    async def story() -> None:
        await world.bus.fire(STOPPED)

    world.on("agent_loop_stopped", picky)
    world.on("agent_loop_stopped", greedy)
    await world.during(story)
    assert seen["picky"] == ("agent:main:chat:1", "user_stop")
    assert seen["greedy"] == {
        "session_key": "agent:main:chat:1",
        "platform": "chat",
        "reason": "Stop requested",
        "invalidation_reason": "stop_command",
        "agent_id": "main",
        "run_id": "r1",
        "kind": "stopped",
        "cause": "user_stop",
        "phase": "streaming",
        "duration_ms": 12,
        "tool_calls": (),
        "remote_calls": (),
        "telemetry_schema_version": "hermes.observer.v1",
    }


async def test_cancelled_calls_reach_handlers_as_plain_data() -> None:
    world, lines = World(), []

    async def audit(**everything: Any) -> None:
        lines.append(json.dumps(everything["remote_calls"]))

    world.on("agent_loop_stopped", audit)
    await world.bus.fire(
        type(STOPPED)(
            **{f: getattr(STOPPED, f) for f in STOPPED.__struct_fields__ if f != "remote_calls"},
            remote_calls=(CancelledCall("tc_1", "open_door"),),
        )
    )
    assert lines == ['[{"id": "tc_1", "name": "open_door"}]']


async def test_what_a_handler_does_to_its_arguments_stays_with_it() -> None:
    world, seen = World(), []

    async def vandal(args: dict[str, Any]) -> None:
        args["flags"].append("--force")
        args["command"] = "rm"

    async def witness(args: dict[str, Any]) -> None:
        seen.append(args)

    world.on("pre_tool_call", vandal)
    world.on("pre_tool_call", witness)
    await world.bus.decide(TOOL)
    assert seen == [{"command": "ls", "flags": ["-l"]}]
    assert TOOL.args == {"command": "ls", "flags": ["-l"]}


async def test_plain_functions_run_in_threads_of_their_own() -> None:
    world, seen = World(), []

    def plain(run_id: str) -> None:
        seen.append((run_id, threading.current_thread() is threading.main_thread()))

    async def story() -> None:
        await world.bus.fire(STOPPED)

    world.on("agent_loop_stopped", plain)
    await world.during(story)
    assert seen == [("r1", False)]


@pytest.mark.parametrize("running", [True, False])
async def test_handlers_see_the_callers_context_and_cannot_change_it(running: bool) -> None:
    world, seen = World(), []
    word: ContextVar[str] = ContextVar("word", default="nothing")

    async def task(**_: Any) -> None:
        seen.append(("task", word.get()))
        word.set("changed")

    def thread(**_: Any) -> None:
        seen.append(("thread", word.get()))
        word.set("changed")

    async def story() -> None:
        word.set("canary")
        await world.bus.fire(STOPPED)
        assert word.get() == "canary"

    world.on("agent_loop_stopped", task)
    world.on("agent_loop_stopped", thread)
    await (world.during(story) if running else story())
    assert sorted(seen) == [("task", "canary"), ("thread", "canary")]


async def test_the_first_objection_stands_and_later_policies_are_not_asked() -> None:
    world = World()

    async def silent(**_: Any) -> None:
        world.log.append("silent")

    async def blocks(**_: Any) -> dict[str, str]:
        world.log.append("blocks")
        return {"action": "block", "message": "not on a Sunday"}

    async def approves(**_: Any) -> dict[str, str]:
        world.log.append("approves")
        return {"action": "approve"}

    for policy in (silent, blocks, approves):
        world.on("pre_tool_call", policy)
    decision = await world.bus.decide(TOOL)
    assert (decision.action, decision.message) == ("block", "not on a Sunday")
    assert decision.by.endswith("blocks")
    assert not decision.failed_closed
    assert world.log == ["silent", "blocks"]


async def test_allow_is_no_objection_and_cannot_overrule_a_later_one() -> None:
    world = World()

    async def allows(**_: Any) -> dict[str, str]:
        return {"action": "allow"}

    async def approval(**_: Any) -> Decision:
        return Decision(action="approve", message="dangerous", rule_key="rm")

    world.on("pre_tool_call", allows)
    world.on("pre_tool_call", approval)
    decision = await world.bus.decide(TOOL)
    assert (decision.action, decision.message, decision.rule_key) == ("approve", "dangerous", "rm")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"action": "skip", "reason": "spam"}, ("skip", "spam", "")),
        ({"action": "rewrite", "text": "hi"}, ("rewrite", "", "hi")),
        ({"action": "allow"}, ("allow", "", "")),
    ],
)
async def test_a_message_can_be_skipped_or_rewritten(
    answer: dict[str, str], expected: tuple[str, str, str]
) -> None:
    world = World()

    async def policy(text: str) -> dict[str, str]:
        return answer

    world.on("pre_gateway_dispatch", policy)
    decision = await world.bus.decide(DISPATCH)
    assert (decision.action, decision.message, decision.text) == expected


async def test_the_first_non_empty_text_replaces_and_the_rest_is_not_asked() -> None:
    world = World()
    for answer in (None, "", "second", "third"):

        async def handler(answer: str | None, **_: Any) -> str | None:
            world.log.append(repr(answer))
            return answer

        world.on("transform_llm_output", functools.partial(handler, answer=answer))
    assert await world.bus.transform(REPLY) == "second"
    assert world.log == ["None", "''", "'second'"]


async def test_context_for_the_prompt_is_joined_in_registration_order(
    autojump_clock: MockClock,
) -> None:
    world = World()

    async def memory(**_: Any) -> dict[str, str]:
        await trio.sleep(1)
        return {"context": "likes tea"}

    async def weather(**_: Any) -> str:
        return "it rains"

    world.on("pre_llm_call", memory)
    world.on("pre_llm_call", weather)
    assert await world.bus.transform(PROMPT) == "likes tea\n\nit rains"


async def test_the_first_choice_of_an_agent_is_taken() -> None:
    world = World()

    async def undecided(**_: Any) -> None:
        return None

    def coder(text: str) -> str:
        return "coder"

    world.on("select_agent", undecided)
    world.on("select_agent", coder)
    assert await world.bus.select(CHOICE) == "coder"
