"""The demo model as a model: pieces, the whole, and silence after a stop."""

from __future__ import annotations

import trio
from trio.testing import MockClock

from adapters.models.demo.client import DemoModel
from hermes_actors.testing import Stage, cancel_at_every_step
from hermes_actors.values import Delta, TextDelta, ToolCall, UserMessage
from tests.adapters.models.talk import ask


async def test_the_reply_is_the_whole_of_its_pieces(autojump_clock: MockClock) -> None:
    seen: list[Delta] = []
    reply = await DemoModel().respond(ask(UserMessage("hello\n\nworld ")), seen.append)
    assert "".join(each.text for each in seen if isinstance(each, TextDelta)) == reply.text
    assert "hello\n\nworld" in reply.text
    assert reply.finish_reason == "stop"
    assert reply.usage.input > 0 < reply.usage.output
    assert len(seen) > 5


async def test_a_call_is_a_call(autojump_clock: MockClock) -> None:
    reply = await DemoModel().respond(ask(UserMessage("run `ls`")), lambda delta: None)
    assert reply.tool_calls == (ToolCall("demo_1_0", "terminal", '{"command": "ls"}'),)
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")


async def test_counting_slowly_takes_its_time_and_can_be_stopped(autojump_clock: MockClock) -> None:
    seen: list[Delta] = []
    with trio.move_on_after(3.5):
        await DemoModel().respond(ask(UserMessage("count slowly to 100")), seen.append)
    assert trio.current_time() == 3.5
    await trio.sleep(100)
    assert seen == [TextDelta("1 "), TextDelta("2 "), TextDelta("3 ")]


async def counting(stage: Stage) -> None:
    """A count of five, which is silent from the moment of a stop."""
    seen_after_stop: list[Delta] = []
    stopped = False

    def hear(delta: Delta) -> None:
        if stopped or stage.struck:
            seen_after_stop.append(delta)

    def stop() -> None:
        nonlocal stopped
        stopped = True
        scope.cancel()

    stage.world = seen_after_stop
    stage.on_stop(stop)
    with trio.CancelScope() as scope:
        stage.arm()
        await DemoModel().respond(ask(UserMessage("count to 5")), hear)


def heard_nothing_after_the_stop(stage: Stage) -> None:
    assert stage.world == []


def test_stopped_at_any_step_it_says_nothing_more() -> None:
    report = cancel_at_every_step(counting, verify=heard_nothing_after_the_stop)
    assert report.ok, str(report)
