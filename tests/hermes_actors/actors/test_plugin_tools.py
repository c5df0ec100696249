from __future__ import annotations

import threading
from typing import Any

import trio

from hermes_actors.actors.plugin_tools import PluginTools
from hermes_actors.hooks.contributions import PluginTool
from hermes_actors.values import ToolCall, ToolResult


class Nobody:
    run_id, session_key, agent_id = "r", "k", "main"

    def cannot_be_cut(self, call_id: str) -> None:
        """Nobody minds."""


def tool(name: str, handler: Any, toolset: str = "plugins") -> PluginTool:
    return PluginTool(name, "test", handler, f"does {name}", {"type": "object"}, toolset, False)


def tools(*given: PluginTool, toolsets: tuple[str, ...] = ()) -> PluginTools:
    return PluginTools({each.name: each for each in given}, toolsets, trio.CapacityLimiter(1))


async def add(arguments: dict[str, Any]) -> int:
    await trio.lowlevel.checkpoint()
    return int(arguments["a"] + arguments["b"])


def shout(arguments: dict[str, Any]) -> str:
    return str(arguments["text"]).upper()


async def test_async_and_plain_handlers_get_their_arguments_as_one_dict() -> None:
    box = tools(tool("add", add), tool("shout", shout))
    assert await box.call(ToolCall("1", "add", '{"a": 1, "b": 2}'), Nobody()) == ToolResult("3")
    assert await box.call(ToolCall("2", "shout", '{"text": "hi"}'), Nobody()) == ToolResult("HI")


async def test_a_tool_that_is_not_there_is_an_answer() -> None:
    result = await tools().call(ToolCall("1", "nothing", "{}"), Nobody())
    assert result.failed
    assert "there is no tool 'nothing'" in result.text


def test_only_tools_of_the_agents_toolsets_are_offered() -> None:
    given = [tool("own", add), tool("rare", add, "rare")]

    async def names(*toolsets: str) -> list[str]:
        await trio.lowlevel.checkpoint()
        return [each.name for each in tools(*given, toolsets=toolsets).offered()]

    assert trio.run(names) == ["own"]
    assert trio.run(names, "rare") == ["own", "rare"]


async def test_a_stop_does_not_wait_for_a_thread_that_cannot_be_ended() -> None:
    release = threading.Event()

    def stuck(arguments: dict[str, Any]) -> str:
        release.wait(30)
        return "too late"

    results: list[ToolResult] = []
    box = tools(tool("stuck", stuck))

    async def call() -> None:
        results.append(await box.call(ToolCall("1", "stuck", "{}"), Nobody()))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(call)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    release.set()
    assert results == []
