"""Short ways to write what a model, a tool or a person does in a test of the loop."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

from hermes_actors.pure.agent_loop import (
    AgentLoop,
    AskModel,
    Begin,
    Effect,
    End,
    Keep,
    LoopLimits,
    ModelReplied,
    RunTools,
    Say,
    ToolAnswered,
    Warn,
)
from hermes_actors.values import (
    FinishReason,
    Message,
    ModelReply,
    ToolCall,
    Usage,
    UserMessage,
)

ASK = UserMessage("please")
TOOLS = ("look", "read_file", "write_file", "terminal", "memory", "delegate_task", "web_search")


def begun(limits: LoopLimits | None = None, tools: Iterable[str] = TOOLS) -> AgentLoop:
    loop = AgentLoop((ASK,), tuple(tools), limits)
    assert loop.feed(Begin()) == [AskModel((ASK,))]
    return loop


def says(text: str, finish: FinishReason = "stop", **more: object) -> ModelReplied:
    reasoning, usage = more.get("reasoning", ""), more.get("usage", Usage())
    assert isinstance(reasoning, str)
    assert isinstance(usage, Usage)
    return ModelReplied(ModelReply(text, (), finish, usage, reasoning))


def calls(*wanted: ToolCall, text: str = "", finish: FinishReason = "tool_calls") -> ModelReplied:
    return ModelReplied(ModelReply(text, wanted, finish))


def call(number: int | str = 1, name: str = "look", arguments: str | None = None) -> ToolCall:
    """Calls of one tool differ in their arguments unless they are told not to."""
    return ToolCall(f"c{number}", name, f'{{"n": "{number}"}}' if arguments is None else arguments)


def answers(number: int | str = 1, text: str = "seen", **more: bool) -> ToolAnswered:
    return ToolAnswered(f"c{number}", text, more.get("failed", False), more.get("denied", False))


def end_of(effects: list[Effect]) -> End:
    (end,) = [each for each in effects if isinstance(each, End)]
    assert effects[-1] is end
    return end


def ask_of(effects: list[Effect]) -> AskModel:
    (ask,) = [each for each in effects if isinstance(each, AskModel)]
    assert effects[-1] is ask
    return ask


def run_of(effects: list[Effect]) -> RunTools:
    (run,) = [each for each in effects if isinstance(each, RunTools)]
    assert effects[-1] is run
    return run


def said(effects: list[Effect]) -> list[tuple[str, str]]:
    return [(each.origin, each.text) for each in effects if isinstance(each, Say)]


def kept(effects: list[Effect]) -> list[Message]:
    return [each.message for each in effects if isinstance(each, Keep)]


def warned(effects: list[Effect]) -> list[str]:
    return [each.code for each in effects if isinstance(each, Warn)]


def state_of(loop: AgentLoop) -> bytes:
    """Everything the loop remembers, to compare before and after."""
    return pickle.dumps(loop)
