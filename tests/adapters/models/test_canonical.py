"""The same value is always the same bytes."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.models import canonical

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def shuffled(value: Any) -> Any:
    """The same value with every mapping written the other way round."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(value)}
    return [shuffled(each) for each in value] if isinstance(value, list) else value


@given(JSON)
def test_the_order_in_which_a_mapping_was_written_does_not_matter(value: Any) -> None:
    assert canonical.encode(value) == canonical.encode(shuffled(value))


@given(st.text(st.characters(), max_size=20))
def test_any_text_can_be_sent_even_half_of_a_surrogate_pair(text: str) -> None:
    class Said(msgspec.Struct):
        words: str

    sent = canonical.encode(Said(text))
    assert sent == canonical.encode(Said(text))
    assert json.loads(sent) == {"words": text.encode("utf-8", "replace").decode()}


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_arguments_have_one_spelling(arguments: dict[str, Any]) -> None:
    loose = json.dumps(shuffled(arguments), indent=3)
    assert canonical.arguments_text(loose) == canonical.arguments_text(json.dumps(arguments))
    assert json.loads(canonical.arguments_text(loose)) == arguments


@pytest.mark.parametrize("broken", ["", "{", "[1]", "null", '{"a": 1e999}', "\ud800", "nonsense"])
def test_arguments_that_are_no_object_become_an_empty_one(broken: str) -> None:
    assert canonical.arguments_text(broken) == "{}"
    assert canonical.arguments_object(broken) == {}


@given(st.lists(st.text(st.characters(), max_size=80), unique=True, max_size=10))
@example(["\ud800", "?"])
def test_ids_become_plain_and_unlike_ones_stay_unlike(ids: list[str]) -> None:
    plain = [canonical.plain_id(each) for each in ids]
    assert len(set(plain)) == len(ids)
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", each) for each in plain)


def test_a_free_id_is_the_wanted_one_or_the_next_that_nobody_has() -> None:
    assert canonical.free_id("a", "b", ()) == "a"
    assert canonical.free_id("  ", "b", ()) == "b"
    assert canonical.free_id("a", "b", ("a", "a_2")) == "a_3"


def test_arguments_that_are_too_deep_to_be_sent_become_an_empty_object() -> None:
    for deep in ('{"a":' * 150 + "1" + "}" * 150, '{"a":' + "[" * 100_000):
        assert canonical.arguments_text(deep) == "{}"
    wide = json.dumps({"content": "{" * 5000, "list": [{}] * 500})
    assert json.loads(canonical.arguments_text(wide)) == json.loads(wide)
