"""Every way in which a run can end with words that no model has said, as worlds to prepare."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import trio

from hermes_actors.actors.house import Limits
from hermes_actors.errors import StoreRefused
from hermes_actors.ports import ModelFailed
from hermes_actors.pure.agent_loop import LoopLimits
from hermes_actors.pure.guardrails import GuardrailLimits, Thresholds
from hermes_actors.testing.script import HANG, calls
from hermes_actors.values import Usage
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import World

Prepare = Callable[[World], None]
TWICE = GuardrailLimits(hard_stop_after=Thresholds(2, 8, 5))


async def fails(arguments: dict[str, Any]) -> str:
    await trio.lowlevel.checkpoint()
    return json.dumps({"error": "no such thing"})


async def works(arguments: dict[str, Any]) -> str:
    await trio.lowlevel.checkpoint()
    return "done"


def guardrail(world: World) -> None:
    """Twice: each run sees two failures and asks for a third call, which is not made."""
    world.tools, world.loop = Toolbox(fails=fails), LoopLimits(guardrails=TWICE)
    world.model.script(*[[calls("fails", x=1)]] * 6)


def budget(world: World) -> None:
    world.tools, world.loop = Toolbox(works=works), LoopLimits(tokens_per_run=10)
    world.model.script([calls("works"), Usage(input=50, output=5)])


def max_iterations(world: World) -> None:
    world.tools, world.loop = Toolbox(works=works), LoopLimits(max_iterations=1)
    world.model.script([calls("works")], [], [])


def denied(world: World) -> None:
    async def forbid(tool_name: str) -> dict[str, str]:
        await trio.lowlevel.checkpoint()
        return {"action": "block", "message": "not today"}

    world.bus.register("pre_tool_call", forbid, owner="test")
    world.tools, world.loop = Toolbox(works=works), LoopLimits(denials=1)
    world.model.script([calls("works")])


def provider(world: World) -> None:
    world.model.script(ModelFailed("unauthorized", "the key was refused"))


def store(world: World) -> None:
    world.model.script(StoreRefused("full", "the disk is full"))


def internal(world: World) -> None:
    world.model.script(ZeroDivisionError("a bug"))


def deadline(world: World) -> None:
    world.house = msgspec.structs.replace(world.house, limits=Limits(turn_deadline=0.2))
    world.model.script([HANG])


def idle(world: World) -> None:
    world.house = msgspec.structs.replace(world.house, limits=Limits(idle_deadline=0.2))
    world.model.script([HANG])


EXITS: dict[str, tuple[str, Prepare]] = {
    "guardrail": ("halted", guardrail),
    "budget": ("halted", budget),
    "max_iterations": ("halted", max_iterations),
    "denied": ("halted", denied),
    "provider": ("failed", provider),
    "store": ("failed", store),
    "internal": ("failed", internal),
    "deadline": ("expired", deadline),
    "idle": ("expired", idle),
}
