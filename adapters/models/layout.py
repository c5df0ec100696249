"""Where a model's sealed thoughts stood in its answer, so that they go back to the same places.

A provider that seals or signs thoughts refuses them when they come back in another order. Our own
`AssistantMessage` has words and calls apart, so the order is written down beside them, in `opaque`:
thoughts as they came, words as a length, calls as a place. If the words are not the same any more
(somebody may have changed them), the thoughts go first, as they do in most answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from adapters.models import canonical
from hermes_actors.values import AssistantMessage

Block = dict[str, Any]

WORDS, CALL = "text", "tool_use"


class _Kept(msgspec.Struct, frozen=True):
    """`wire` and `model` say whose thoughts these are: nobody else can open or check them."""

    wire: str
    model: str
    layout: list[Block]


_KEPT = msgspec.json.Decoder(_Kept)


def words_of(length: int) -> Block:
    """The place of so many characters."""
    return {"type": WORDS, "length": length}


def a_call() -> Block:
    """The place of a call."""
    return {"type": CALL}


def keep(wire: str, model: str, layout: list[Block]) -> str:
    """The layout of an answer as a reply carries it; empty when there are no thoughts in it."""
    if all(block["type"] in (WORDS, CALL) for block in layout):
        return ""
    return canonical.encode(_Kept(wire, model, layout)).decode()


def kept(wire: str, model: str, message: AssistantMessage) -> list[Block]:
    """The layout that this model gave on this wire, or nothing."""
    if not message.opaque:
        return []
    try:
        found = _KEPT.decode(message.opaque)
    except canonical.UNREADABLE:
        return []
    return found.layout if (found.wire, found.model) == (wire, model) else []


def arranged(
    layout: list[Block], text: str, calls: list[Block], say: Callable[[str], list[Block]]
) -> list[Block]:
    """Thoughts, words and calls in the order in which they came, as far as that is known."""
    lengths = [block.get("length", 0) for block in layout if block["type"] == WORDS]
    places = sum(block["type"] == CALL for block in layout)
    if sum(lengths) != len(text) or places != len(calls):
        thoughts = [block for block in layout if block["type"] not in (WORDS, CALL)]
        return [*thoughts, *say(text), *calls]
    return _in_order(layout, text, list(calls), say)


def _in_order(
    layout: list[Block], text: str, calls: list[Block], say: Callable[[str], list[Block]]
) -> list[Block]:
    blocks: list[Block] = []
    for block in layout:
        match block["type"]:
            case "text":
                blocks += say(text[: block["length"]])
                text = text[block["length"] :]
            case "tool_use":
                blocks.append(calls.pop(0))
            case _:
                blocks.append(block)
    return blocks
