"""Tools for tests: each a small async function of its arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from hermes_actors.values import ToolCall, ToolResult, ToolSpec

Handler = Callable[[dict[str, Any]], Awaitable[str]]


class Toolbox:
    """Offers what it was given, and remembers what was called."""

    def __init__(self, **handlers: Handler) -> None:
        self._handlers = handlers
        self.called: list[str] = []

    def offered(self) -> tuple[ToolSpec, ...]:
        return tuple(ToolSpec(name, name, {"type": "object"}) for name in self._handlers)

    async def call(self, call: ToolCall, context: Any) -> ToolResult:
        self.called.append(call.name)
        return ToolResult(await self._handlers[call.name](msgspec.json.decode(call.arguments)))
