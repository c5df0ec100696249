"""One tool call from intent to result: policy, record, act, tell.

Before a tool acts there is a row that says so; after it has acted there is one with the outcome.
Whoever is cut in between leaves the first without the second, which is what the model is told.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import trio

from hermes_actors.actors.turn import Turn
from hermes_actors.happenings import ToolBegan, ToolEnded
from hermes_actors.hooks.answers import Decision
from hermes_actors.hooks.events import PostToolCall, PreToolCall, TransformToolResult
from hermes_actors.pure.agent_loop import ToolAnswered
from hermes_actors.pure.failures import looks_failed
from hermes_actors.store import tool_calls
from hermes_actors.store.states import ToolOutcome
from hermes_actors.values import ToolCall, ToolResult

_PREVIEW = 80
_TIMED_OUT = json.dumps(
    {"error": "cut off: the time for tools is up; whether it had an effect is unknown"}
)


class Done(msgspec.Struct, frozen=True):
    """What came of a call: for the agent loop, and for the record."""

    answer: ToolAnswered
    outcome: ToolOutcome


class Hands:
    """Carries out calls for one run."""

    def __init__(self, turn: Turn) -> None:
        self._turn, self._house = turn, turn.house
        self._tools = turn.order.agent.tools

    async def do(self, call: ToolCall) -> Done:
        """Ask the policies, act, and report. Cut anywhere, it leaves a true record."""
        args = _arguments(call)
        decision = await self._house.bus.decide(self._question(call, args))
        if not decision.allowed:
            return await self._not_done(call, args, decision)
        began = trio.current_time()
        result = await self._act(call)
        self._turn.calls.acted(call.id)
        return await self._report(call, args, result, trio.current_time() - began)

    def out_of_time(self, call: ToolCall) -> Done:
        """What is said of a call that was cut because its batch took too long."""
        self._turn.calls.settled(call.id)
        self._ended(call, "timeout", self._house.limits.tool_batch_deadline)
        return Done(ToolAnswered(call.id, _TIMED_OUT, True), ToolOutcome.TIMEOUT)

    async def _act(self, call: ToolCall) -> ToolResult:
        turn, house = self._turn, self._house
        house.journal.note("child.started", run=turn.run_id, child=call.id)
        turn.voice.tell(ToolBegan(turn.run_id, call.id, call.name, call.arguments[:_PREVIEW]))
        try:
            with turn.calls.under_way(call.id, call.name):
                now = house.now()
                await house.store.write(tool_calls.start(turn.run_id, call.id, now=now))
                house.journal.note("tool.started", run=turn.run_id, call=call.id, tool=call.name)
                return await self._called(call)
        finally:
            house.journal.note("child.ended", run=turn.run_id, child=call.id)

    async def _called(self, call: ToolCall) -> ToolResult:
        try:
            return await self._tools.call(call, self._turn)
        except Exception as crash:  # noqa: BLE001  border to foreign code: told to the model
            self._house.journal.note("tool.crashed", run=self._turn.run_id, error=repr(crash))
            words = f"[TOOL_ERROR] {type(crash).__name__}: {crash}"[:2000]
            return ToolResult(json.dumps({"error": words}), failed=True)

    async def _report(
        self, call: ToolCall, args: dict[str, Any], result: ToolResult, seconds: float
    ) -> Done:
        failed = result.failed or looks_failed(call.name, result.text)
        told = self._told(call, args, result.text, "error" if failed else "ok", seconds)
        await self._house.bus.fire(PostToolCall(**told))
        changed = await self._house.bus.transform(TransformToolResult(**told))
        self._ended(call, "error" if failed else "ok", seconds)
        answer = ToolAnswered(call.id, result.text if changed is None else changed, failed)
        return Done(answer, ToolOutcome.ERROR if failed else ToolOutcome.OK)

    async def _not_done(self, call: ToolCall, args: dict[str, Any], decision: Decision) -> Done:
        words = decision.message or f"a policy ({decision.by}) does not allow this call"
        if decision.action == "approve":
            words = f"this call needs the approval of a person, who cannot be asked here: {words}"
        text = json.dumps({"error": words, "blocked_by": decision.by})
        await self._house.bus.fire(PostToolCall(**self._told(call, args, text, "blocked", 0.0)))
        self._ended(call, "denied", 0.0)
        return Done(ToolAnswered(call.id, text, True, denied=True), ToolOutcome.DENIED)

    def _ended(self, call: ToolCall, outcome: str, seconds: float) -> None:
        run = self._turn.run_id
        self._house.journal.note("tool.ended", run=run, call=call.id, outcome=outcome)
        self._turn.voice.tell(ToolEnded(run, call.id, call.name, outcome, round(seconds, 3)))
        self._turn.progressed()

    def _question(self, call: ToolCall, args: dict[str, Any]) -> PreToolCall:
        return PreToolCall(**self._ids(call, args))

    def _told(
        self, call: ToolCall, args: dict[str, Any], result: str, status: str, seconds: float
    ) -> dict[str, Any]:
        timing = {"result": result, "status": status, "duration_ms": round(seconds * 1000)}
        return {**self._ids(call, args), **timing}

    def _ids(self, call: ToolCall, args: dict[str, Any]) -> dict[str, Any]:
        order = self._turn.order
        return {
            "tool_name": call.name,
            "args": args,
            "tool_call_id": call.id,
            "session_key": order.session_key,
            "agent_id": order.agent.id,
            "session_id": order.session_id,
            "task_id": order.run_id,
            "turn_id": order.run_id,
        }


def _arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments for hooks. The agent loop lets only objects through."""
    try:
        read = msgspec.json.decode(call.arguments)
    except msgspec.DecodeError:
        return {}
    return read if isinstance(read, dict) else {}
