"""When are two calls, or two results, the same? When their JSON is, however it was written.

Key order, spaces and escapes do not count. Text that is no JSON counts as it is. What leaves this
module is a hash, so a signature can be shown and stored without showing anybody's arguments.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from hermes_actors.values import ToolCall


class Signature(msgspec.Struct, frozen=True):
    """A tool and the hash of its arguments."""

    tool: str
    arguments: str


def signature(call: ToolCall) -> Signature:
    """What makes this call the same as another one."""
    return Signature(call.name, fingerprint(call.arguments or "{}"))


def fingerprint(text: str) -> str:
    """SHA-256 of the canonical form of a text."""
    return hashlib.sha256(canonical(text).encode("utf-8", "surrogatepass")).hexdigest()


def canonical(text: str) -> str:
    """Sorted keys, no spaces, every character as it is; text that is no JSON is left alone."""
    try:
        return json.dumps(
            json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
    except (ValueError, RecursionError):
        return text


def arguments_of(call: ToolCall) -> dict[str, Any] | None:
    """The arguments as an object, none at all as an empty one; None: they are no JSON object."""
    try:
        parsed = json.loads(call.arguments.strip() or "{}")
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None
