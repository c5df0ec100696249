"""A child process: a gateway around a scripted model that says on its output what happens."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import trio

from hermes_actors.actors.driver import drive
from hermes_actors.happenings import RunEnded
from hermes_actors.journal import Entry, Journal
from hermes_actors.pure.tool_rules import READER, ToolRule
from hermes_actors.testing.script import HANG, Line, calls
from hermes_actors.values import ModelRequest, ToolMessage
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import World, living_world


def tell(kind: str, **data: Any) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **data}) + "\n")
    sys.stdout.flush()


def note(entry: Entry) -> None:
    if entry.kind in ("model.called", "tool.started"):
        tell(entry.kind)


async def hangs(arguments: dict[str, Any]) -> str:
    await trio.sleep_forever()
    return ""


def answers(request: ModelRequest) -> str:
    results = [each.text for each in request.messages if isinstance(each, ToolMessage)]
    tell("told", results=results)
    return "Here I am again."


LINES: dict[str, Line] = {
    "hangs": [HANG],
    "acts": [calls("reads"), calls("looks"), calls("writes")],
    "writes": [calls("writes")],
    "answers": answers,
}


async def main(folder: Path, model: str) -> None:
    fresh = not (folder / "db").exists()
    async with living_world(
        folder / "db", drive, journal=Journal(note), again=not fresh, prepare=prepare
    ) as world:
        world.model.script(LINES[model])
        reader = world.watch()
        if fresh:
            await world.say("hello?", key="the one message")
        with trio.move_on_after(5):
            async for each in reader:
                if isinstance(each.what, RunEnded) and each.what.state == "completed":
                    tell("answered", text=each.what.text)
                    return
        tell("idle")


def prepare(world: World) -> None:
    async def heard(cause: str, phase: str, tool_calls: list[dict[str, str]]) -> None:
        await trio.lowlevel.checkpoint()
        tell("hook", cause=cause, phase=phase, calls=[call["name"] for call in tool_calls])

    world.tools = Toolbox(reads=hangs, looks=hangs, writes=hangs)
    world.rules = {"reads": READER, "looks": READER, "writes": ToolRule()}
    world.bus.register("agent_loop_stopped", heard, owner="test")


trio.run(main, Path(sys.argv[1]), sys.argv[2])
