from __future__ import annotations

from typing import get_args

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.ports import ModelClient, ModelFailed, ModelTrouble
from hermes_actors.testing import (
    HANG,
    EventLog,
    Finish,
    Pause,
    ScriptedModel,
    ScriptExhausted,
    calls,
    recorded,
)
from hermes_actors.values import (
    Delta,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolMessage,
    Usage,
    UserMessage,
)

ASK = ModelRequest("r", "demo", (UserMessage("hello"),))


class Listener:
    """Keeps deltas, and when they came."""

    def __init__(self) -> None:
        self.deltas: list[Delta] = []
        self.times: list[float] = []

    def __call__(self, delta: Delta) -> None:
        self.deltas.append(delta)
        self.times.append(trio.current_time())

    @property
    def text(self) -> list[str]:
        return [delta.text for delta in self.deltas if isinstance(delta, TextDelta)]


async def test_it_fits_the_port(autojump_clock: MockClock) -> None:
    model: ModelClient = ScriptedModel("Hello.")
    assert await model.respond(ASK, Listener()) == ModelReply("Hello.")


async def test_words_are_streamed_one_by_one_and_returned_whole(autojump_clock: MockClock) -> None:
    heard = Listener()
    reply = await ScriptedModel("Hello  there,\nyou. ").respond(ASK, heard)
    assert heard.text == ["Hello", "  there,", "\nyou.", " "]
    assert reply == ModelReply("Hello  there,\nyou. ")


async def test_lines_are_used_in_order_and_requests_are_kept(autojump_clock: MockClock) -> None:
    model = ScriptedModel("one")
    model.script("two", "three")
    second = ModelRequest("q", "demo", ())
    assert (await model.respond(ASK, Listener())).text == "one"
    assert (await model.respond(second, Listener())).text == "two"
    assert model.requests == [ASK, second]
    assert model.lines_left == 1


async def test_a_reply_is_made_of_thoughts_words_and_calls(autojump_clock: MockClock) -> None:
    heard = Listener()
    model = ScriptedModel(
        [
            ReasoningDelta("hm"),
            TextDelta("Let me look."),
            calls("search", q="tea"),
            ToolCall("mine", "fetch", "{broken"),
            Usage(input=3, output=4),
        ]
    )
    reply = await model.respond(ASK, heard)
    assert reply == ModelReply(
        text="Let me look.",
        tool_calls=(
            ToolCall("call-1", "search", '{"q": "tea"}'),
            ToolCall("mine", "fetch", "{broken"),
        ),
        finish_reason="tool_calls",
        usage=Usage(input=3, output=4),
        reasoning="hm",
    )
    assert heard.deltas == [
        ReasoningDelta("hm"),
        TextDelta("Let me look."),
        ToolCallDelta(0, "", "call-1", "search"),
        ToolCallDelta(0, '{"q": '),
        ToolCallDelta(0, '"tea"}'),
        ToolCallDelta(1, "", "mine", "fetch"),
        ToolCallDelta(1, "{br"),
        ToolCallDelta(1, "oken"),
    ]


async def test_calls_without_an_id_are_numbered_across_replies(autojump_clock: MockClock) -> None:
    model = ScriptedModel(calls("a"), calls("b"))
    first, second = [await model.respond(ASK, Listener()) for _ in range(2)]
    assert [first.tool_calls[0].id, second.tool_calls[0].id] == ["call-1", "call-2"]


async def test_a_reply_may_end_for_another_reason_or_be_empty(autojump_clock: MockClock) -> None:
    model = ScriptedModel(["Too lo", Finish("length")], [])
    assert (await model.respond(ASK, Listener())).finish_reason == "length"
    assert await model.respond(ASK, Listener()) == ModelReply()


async def test_a_reply_can_depend_on_the_request(autojump_clock: MockClock) -> None:
    model = ScriptedModel(otherwise=lambda request: [f"{len(request.messages)} messages"])
    for _ in range(3):
        assert (await model.respond(ASK, Listener())).text == "1 messages"


@pytest.mark.parametrize("kind", get_args(ModelTrouble))
async def test_every_kind_of_failure_can_be_played_before_and_after_the_first_word(
    kind: ModelTrouble, autojump_clock: MockClock
) -> None:
    failure = ModelFailed(kind, "as planned", retry_after=3)
    model, heard = ScriptedModel(failure, ["Half", failure]), Listener()
    for text in ([], ["Half"]):
        with pytest.raises(ModelFailed) as caught:
            await model.respond(ASK, heard)
        assert caught.value is failure
        assert heard.text == text
    assert model.connections == 0


async def test_time_passes_only_where_it_is_asked_to(autojump_clock: MockClock) -> None:
    heard = Listener()
    await ScriptedModel(["one two", Pause(10), "three"], delay=0.5).respond(ASK, heard)
    assert heard.times == [0.5, 1.0, 11.5]
    heard = Listener()
    await ScriptedModel("one two three").respond(ASK, heard)
    assert heard.times == [11.5, 11.5, 11.5]


@pytest.mark.parametrize(("line", "heard_before"), [(HANG, []), (["Half a", HANG], ["Half", " a"])])
async def test_a_hanging_call_is_closed_by_a_cancellation_and_no_delta_follows(
    line: object, heard_before: list[str], autojump_clock: MockClock
) -> None:
    log, heard = EventLog(), Listener()
    model = ScriptedModel(line, journal=recorded(log))  # type: ignore[arg-type]
    with trio.move_on_after(60) as patience:
        await model.respond(ASK, heard)
    assert patience.cancelled_caught
    assert heard.text == heard_before
    assert log.lines() == [
        "   1     0.000  model.called run=r",
        "   2    60.000  model.closed run=r",
    ]
    assert model.connections == 0


async def test_a_call_that_is_answered_or_fails_is_not_closed_early(
    autojump_clock: MockClock,
) -> None:
    log = EventLog()
    model = ScriptedModel("fine", ModelFailed("timeout", "slow"), journal=recorded(log))
    await model.respond(ASK, Listener())
    with pytest.raises(ModelFailed):
        await model.respond(ASK, Listener())
    assert log.kinds() == ["model.called", "model.called"]


async def test_calls_side_by_side_are_counted(autojump_clock: MockClock) -> None:
    model = ScriptedModel(HANG, HANG)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(model.respond, ASK, Listener())
        nursery.start_soon(model.respond, ASK, Listener())
        await wait_all_tasks_blocked()
        assert model.connections == 2
        nursery.cancel_scope.cancel()
    assert model.connections == 0


async def test_a_call_without_a_line_names_the_request_and_is_remembered(
    autojump_clock: MockClock,
) -> None:
    model = ScriptedModel("only one")
    await model.respond(ASK, Listener())
    with pytest.raises(ScriptExhausted) as caught:
        await model.respond(ASK, Listener())
    assert (
        str(caught.value)
        == model.complaint
        == (
            "call 2 of the model has no line in its script: "
            "run 'r' asked 'demo' with the last message 'hello'"
        )
    )
    tool = ModelRequest("r", "demo", (ToolMessage("c", "42"),))
    with pytest.raises(ScriptExhausted, match="with the tool result '42'"):
        await model.respond(tool, Listener())
    with pytest.raises(ScriptExhausted, match="with no message"):
        await model.respond(ModelRequest("r", "demo", ()), Listener())


@pytest.mark.parametrize("line", [42, ["fine", 42], None, {"text": 1}.values()])
def test_a_line_that_no_model_could_say_is_refused_where_it_is_written(line: object) -> None:
    with pytest.raises(TypeError, match="a model cannot say"):
        ScriptedModel(line)  # type: ignore[arg-type]
