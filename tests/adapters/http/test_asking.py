"""What clients ask: whatever comes is understood or refused with the place named, never a crash."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.http.answers import Complaint
from adapters.http.asking import Asked, ChatRequest, understood
from adapters.http.body import decode
from adapters.http.naming import Conversations, Names, derived, names_in
from hermes_actors.values import AssistantMessage, ToolCall, ToolMessage, UserMessage

T = TypeVar("T")
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ROLE = st.sampled_from(["user", "assistant", "system", "developer", "tool", "king"])
MESSAGE = st.fixed_dictionaries(
    {"role": ROLE | ANY_JSON},
    optional={"content": ANY_JSON, "tool_calls": ANY_JSON, "tool_call_id": ANY_JSON},
)
FIELDS = ("model", "stream", "stream_options", "n", "tools", "functions", "response_format")
REQUEST = st.fixed_dictionaries(
    {"messages": st.lists(MESSAGE, max_size=3) | ANY_JSON},
    optional=dict.fromkeys(FIELDS, ANY_JSON),
)


def asked(*messages: dict[str, Any], **fields: Any) -> Asked:
    return understood(decode(json.dumps({"messages": messages, **fields}).encode(), ChatRequest))


def tried(do: Callable[[], T]) -> T | Complaint:
    """What it gives, or what it complains about; anything else fails the test."""
    try:
        return do()
    except Complaint as no:
        return no


@settings(max_examples=60, deadline=None)
@given(REQUEST | ANY_JSON)
def test_any_json_is_understood_or_refused_with_400(body: Any) -> None:
    found = tried(lambda: understood(decode(json.dumps(body).encode(), ChatRequest)))
    if isinstance(found, Complaint):
        assert found.status == 400
        assert str(found)
    else:
        assert found.text.strip()
        assert derived(found).startswith("api-")
        assert Conversations().take(found, Names()) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_with_400_or_are_a_request(body: bytes) -> None:
    found = tried(lambda: decode(body, ChatRequest))
    assert isinstance(found, ChatRequest) or found.status == 400


@given(st.dictionaries(st.sampled_from(["X-Hermes-Session-Id", "X-Hermes-User-Id"]), st.text()))
def test_any_header_is_a_plain_name_or_refused(headers: dict[str, str]) -> None:
    found = tried(lambda: names_in(headers))
    if isinstance(found, Complaint):
        assert (found.status, found.code) == (400, "invalid_header")
    else:
        names = [name for name in (found.session, found.user) if name is not None]
        assert all(0 < len(name) <= 256 for name in names)
        assert not any(ord(letter) < 32 for name in names for letter in name)


def test_what_was_said_before_keeps_its_calls_and_results() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    found = asked(
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "four"},
        {"role": "developer", "content": [{"type": "text", "text": "and brief"}]},
        {"role": "user", "content": "b"},
    )
    assert found.earlier == (
        UserMessage("a"),
        AssistantMessage("", (ToolCall("c1", "look", "{}"),)),
        ToolMessage("c1", "four"),
    )
    assert (found.system, found.text, found.opening) == ("be kind\nand brief", "b", "a")


def test_a_result_without_its_call_is_refused() -> None:
    with pytest.raises(Complaint) as no:
        asked({"role": "tool", "content": "x"}, {"role": "user", "content": "b"})
    assert no.value.param == "messages[0].tool_call_id"
