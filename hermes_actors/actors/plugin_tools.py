"""Tools that plugins bring, as an agent's hands.

A plain function runs in a thread, which nobody can end: when the run is cut, the thread is left
alone with its work, its result is not used, and it keeps its place among a fixed number until it
comes back. Write `async def` for a tool that should really stop.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
import trio

from hermes_actors.hooks.contributions import PluginTool
from hermes_actors.ports import CallContext
from hermes_actors.values import ToolCall, ToolResult, ToolSpec

OWN_TOOLSET = "plugins"


class PluginTools:
    """The tools of these plugins that belong to the given toolsets.

    The toolset `plugins`, which a tool is in unless it says otherwise, needs no mention: whoever
    enabled the plugin has said yes to it.
    """

    def __init__(
        self,
        tools: Mapping[str, PluginTool],
        toolsets: Collection[str],
        threads: trio.CapacityLimiter,
    ) -> None:
        wanted = {OWN_TOOLSET, *toolsets}
        self._tools = {name: tool for name, tool in tools.items() if tool.toolset in wanted}
        self._threads = threads

    def offered(self) -> tuple[ToolSpec, ...]:
        """What the model is told about."""
        return tuple(
            ToolSpec(tool.name, tool.description, tool.parameters) for tool in self._tools.values()
        )

    async def call(self, call: ToolCall, context: CallContext) -> ToolResult:
        """Call the handler with the arguments as one dict; its text, or its value as JSON."""
        tool = self._tools.get(call.name)
        if tool is None:
            await trio.lowlevel.checkpoint()
            return ToolResult(json.dumps({"error": f"there is no tool '{call.name}'"}), failed=True)
        arguments: dict[str, Any] = msgspec.json.decode(call.arguments or "{}")
        if inspect.iscoroutinefunction(tool.handler):
            value = await tool.handler(arguments)
        else:
            # Said a little early, for a place among the threads may still have to be waited for:
            # better a stop that promises too little than one that promises too much.
            context.cannot_be_cut(call.id)
            value = await trio.to_thread.run_sync(
                tool.handler, arguments, limiter=self._threads, abandon_on_cancel=True
            )
        return ToolResult(_as_text(value))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=repr)
