"""Events with plain contents, handlers that misbehave in one way each, and a running bus."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import trio

from hermes_actors.hooks import HookBus
from hermes_actors.hooks.events import (
    AgentLoopStopped,
    PreGatewayDispatch,
    PreLlmCall,
    PreToolCall,
    SelectAgent,
    TransformLlmOutput,
)
from hermes_actors.journal import Journal

STOPPED = AgentLoopStopped(
    session_key="agent:main:chat:1",
    platform="chat",
    reason="Stop requested",
    invalidation_reason="stop_command",
    agent_id="main",
    run_id="r1",
    kind="stopped",
    cause="user_stop",
    phase="streaming",
    duration_ms=12,
)
TOOL = PreToolCall(
    tool_name="terminal",
    args={"command": "ls", "flags": ["-l"]},
    tool_call_id="c1",
    session_key="agent:main:chat:1",
    agent_id="main",
)
DISPATCH = PreGatewayDispatch(
    platform="chat",
    chat_id="1",
    user_id="u",
    text="hello",
    session_key="agent:main:chat:1",
    agent_id="main",
)
REPLY = TransformLlmOutput(
    response_text="hello",
    model="demo",
    platform="chat",
    session_key="agent:main:chat:1",
    agent_id="main",
)
PROMPT = PreLlmCall(
    user_message="hello",
    conversation_history=(),
    is_first_turn=True,
    model="demo",
    platform="chat",
    session_key="agent:main:chat:1",
    agent_id="main",
)
CHOICE = SelectAgent(platform="chat", chat_id="1", user_id="u", text="hello")


class World:
    """A bus, its journal, and a log that handlers write to."""

    def __init__(self, **options: Any) -> None:
        self.journal = Journal(clock=lambda: 0.0)
        self.bus = HookBus(self.journal, **options)
        self.log: list[str] = []

    def on(self, hook: str, function: Callable[..., Any]) -> None:
        self.bus.register(hook, function, owner="test")

    def kinds(self) -> list[str]:
        """What the bus had to say about handlers."""
        kinds = [entry.kind for entry in self.journal.recent()]
        return [kind for kind in kinds if kind != "hook.fired"]

    def reasons(self) -> list[str]:
        return [e["reason"] for e in self.journal.recent() if "reason" in e.data]

    @property
    def left_behind(self) -> int:
        return sum(each.left_behind for each in self.bus.health())

    async def during(self, story: Callable[[], Awaitable[None]]) -> None:
        """Tell a story while the bus runs; the bus must come to an end afterwards."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.bus.run)
            await trio.testing.wait_all_tasks_blocked()
            await story()
            nursery.cancel_scope.cancel()


class Swallower:
    """Ignores every cancellation; in its worse form, refuses to be closed as well."""

    def __init__(self, swallows: type[BaseException] = trio.Cancelled) -> None:
        self._swallows = swallows
        self.swallowed = 0
        self.released = False

    async def __call__(self, **_: Any) -> None:
        while not self.released:
            try:
                await trio.sleep_forever()
            except self._swallows:
                self.swallowed += 1


class Shielder:
    """Waits where no cancellation reaches it, for ever."""

    def __init__(self) -> None:
        self.gone_at: float | None = None

    async def __call__(self, **_: Any) -> None:
        try:
            with trio.CancelScope(shield=True):
                await trio.sleep_forever()
        finally:
            self.gone_at = trio.current_time()
