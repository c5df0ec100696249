"""One value, one spelling: JSON that comes out the same every time.

Providers keep the beginning of a prompt that they have seen before, if it is the same to the
byte. So keys of mappings are sorted, nothing is padded, structs keep the order of their fields,
and text that cannot be UTF-8 (half of a surrogate pair, as broken platforms send it) is mended in
one way always.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder(order="deterministic")
UNREADABLE = (msgspec.MsgspecError, UnicodeEncodeError, RecursionError)
"""What decoding JSON of strangers may raise. Nested deeply enough, it is the last of these."""
_OBJECTS = msgspec.json.Decoder(dict[str, Any])
NAMELESS = "invalid_tool_call"
"""In place of a tool name that the model left blank: a blank one would be refused for ever."""
_DEEPEST = 100
_PLAIN_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def encode(value: Any) -> bytes:
    """The JSON of a value."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_mended(msgspec.to_builtins(value, order="deterministic")))


def is_object(text: str) -> bool:
    """True when the text is the JSON of a whole object."""
    return _object(text) is not None


def arguments_object(arguments: str) -> dict[str, Any]:
    """The arguments of a tool call as an object; an empty one when they are not JSON of one."""
    return _object(arguments) or {}


def arguments_text(arguments: str) -> str:
    """The arguments of a tool call in their one spelling; `{}` when they are not an object."""
    return encode(arguments_object(arguments)).decode()


def plain_id(call_id: str) -> str:
    """A call's id in letters that every provider takes; unlike ids stay unlike."""
    if _PLAIN_ID.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def free_id(wanted: str, fallback: str, taken: Iterable[str]) -> str:
    """`wanted`, or `fallback` where it is blank, with a number behind it if it is in use."""
    name = number = wanted.strip() or fallback
    used, count = frozenset(taken), 1
    while number in used:
        count += 1
        number = f"{name}_{count}"
    return number


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = _OBJECTS.decode(text)
    except UNREADABLE:
        return None
    # What was just shallow enough to be read may be too deep to be written inside a request.
    brackets = text.count("{") + text.count("[")
    return found if brackets <= _DEEPEST or _shallow(found, _DEEPEST) else None


def _shallow(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inside = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_shallow(each, levels - 1) for each in inside)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_mended(key): _mended(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(each) for each in value]
    return value
