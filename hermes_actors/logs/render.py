"""From an event to a line: for people, or for programs."""

from __future__ import annotations

import json
import time
from collections.abc import MutableMapping
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder(enc_hook=repr)
Event = MutableMapping[str, Any]


def as_json(_logger: Any, _method: str, event: Event) -> str:
    """One JSON object, keys in the order in which they were given."""
    return _json(dict(event))


def as_text(_logger: Any, _method: str, event: Event) -> str:
    """`12:03:44 info  actor.started actor=store`; a traceback follows on lines of its own."""
    event = dict(event)
    trace = event.pop("exception", None)
    clock = time.strftime("%H:%M:%S", time.localtime(event.pop("at", 0.0)))
    head = f"{clock} {event.pop('level', 'info'):<7} {event.pop('event', '')}"
    pairs = "".join(f" {key}={_spelled(value)}" for key, value in event.items())
    return head + pairs + (f"\n{trace}" if trace else "")


def _spelled(value: object) -> str:
    """Bare where that is unambiguous; a value can never pretend to be a second line or key."""
    text = value if isinstance(value, str) else _json(value)
    plain = text.isprintable() and text and not any(sign in text for sign in ' ="')
    return text if plain else _json(text)


def _json(value: object) -> str:
    try:
        return _encoder.encode(value).decode()
    except (UnicodeEncodeError, OverflowError, TypeError):
        # Half characters, endless integers, odd keys: slower, but a line must never be lost.
        return json.dumps(value, default=repr, skipkeys=True)
