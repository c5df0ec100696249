"""What a provider wants back is kept with the calls it came with, and survives a repair."""

from __future__ import annotations

from hermes_actors.pure.agent_loop import ModelReplied
from hermes_actors.pure.transcript import ANTHROPIC, repair
from hermes_actors.values import AssistantMessage, ModelReply

from .steps import ASK, begun, call, kept


def test_sealed_thoughts_stay_with_the_calls_they_led_to() -> None:
    reply = ModelReply("", (call(),), "tool_calls", opaque="sealed")
    (message,) = kept(begun().feed(ModelReplied(reply)))
    assert message == AssistantMessage("", (call(),), opaque="sealed")
    assert repair((ASK, message), ANTHROPIC)[1] == message
