"""Whatever a server sends, the caller gets an answer or a `ModelFailed`, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.models.anthropic.reading import MessageReading
from adapters.models.openai_chat.reading import ChatReading
from adapters.models.openai_responses.reading import ResponseReading
from adapters.models.sse import SseEvent
from adapters.models.stream import Reading
from adapters.models.trouble import Interpreter
from hermes_actors.ports import ModelFailed
from hermes_actors.values import ModelReply, ModelRequest
from tests.adapters.models.talk import INTERPRETER, ask

Make = Callable[[ModelRequest, Interpreter], Reading]
READINGS: tuple[Make, ...] = (ChatReading, MessageReading, ResponseReading)
ALL = pytest.mark.parametrize("make", READINGS)

NAMES = """
type index delta content_block text thinking signature partial_json stop_reason message usage code
input_tokens output_tokens error choices finish_reason content tool_calls id function name item data
arguments extra_content response output output_index incomplete_details reason encrypted_content
reasoning refusal input call_id
"""
WORDS = """
content_block_start content_block_delta content_block_stop message_start message_delta message_stop
error tool_use thinking redacted_thinking text text_delta input_json_delta signature_delta stop 429
response.completed response.output_item.added response.output_item.done response.failed message ²
response.function_call_arguments.delta response.output_text.delta function_call reasoning
"""
_NAMES, _WORDS = (st.sampled_from(each.split()) for each in (NAMES, WORDS))
_LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _WORDS | st.text()
)
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=15,
)
_EVENTS = st.dictionaries(_NAMES, _JSON, max_size=6)


def outcome(reading: Reading, events: list[bytes]) -> ModelReply | ModelFailed:
    try:
        for data in events:
            for _ in reading.event(SseEvent("", data)):
                pass
        return reading.reply()
    except ModelFailed as failure:
        return failure


@ALL
@settings(max_examples=60)
@given(events=st.lists(_EVENTS, max_size=5))
def test_events_with_the_right_names_and_the_wrong_values(make: Make, events: list[Any]) -> None:
    written = [json.dumps(event).encode() for event in events]
    assert isinstance(outcome(make(ask(), INTERPRETER), written), ModelReply | ModelFailed)


@ALL
@settings(max_examples=60)
@given(body=_EVENTS)
def test_whole_answers_with_the_right_names_and_the_wrong_values(make: Make, body: Any) -> None:
    reading = make(ask(), INTERPRETER)
    try:
        for _ in reading.whole(json.dumps(body).encode()):
            pass
        assert isinstance(reading.reply(), ModelReply)
    except ModelFailed:
        pass


@ALL
@pytest.mark.parametrize(
    "data",
    [
        b'{"choices":' + b"[" * 100_000,
        b'{"item":' + b'{"a":' * 100_000,
        b'{"usage":{"prompt_tokens":1e999}}',
        b'{"index":99999999999999999999999999}',
        b"\xff",
        b"nul\x00",
    ],
    ids=["deep lists", "deep objects", "a huge number", "a huge index", "no text", "noise"],
)
def test_data_that_breaks_decoders(make: Make, data: bytes) -> None:
    assert isinstance(outcome(make(ask(), INTERPRETER), [data]), ModelFailed)
    assert isinstance(INTERPRETER.refused(400, {}, data), ModelFailed)


@given(st.integers(0, 999), st.binary(max_size=200))
def test_any_refusal_has_words(status: int, body: bytes) -> None:
    assert str(INTERPRETER.refused(status, {}, body)).startswith("somebody ")
