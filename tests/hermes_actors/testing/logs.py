"""Logs written down as text: `"run.started run=r session=s agent=main"` is one entry."""

from __future__ import annotations

from typing import Any

import msgspec

from hermes_actors.journal import Entry
from hermes_actors.testing import EventLog


def log_of(*lines: str) -> EventLog:
    """A log with one entry per line; the number of an entry is its place, from one."""
    return EventLog(_entry(number, line) for number, line in enumerate(lines, 1))


def _entry(number: int, line: str) -> Entry:
    kind, *pairs = line.split()
    data = {key: _value(text) for key, _, text in (pair.partition("=") for pair in pairs)}
    return Entry(number, 0.0, kind, data)


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
