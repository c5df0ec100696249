"""Which calls of one reply may run side by side.

Calls keep their order. A run of neighbours that cannot disturb each other is one segment and runs
concurrently; every other call is a segment of its own, and nothing starts before it has ended.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Sequence

import msgspec

from hermes_actors.pure.signatures import arguments_of
from hermes_actors.pure.tool_rules import ToolRules, rule_of
from hermes_actors.values import ToolCall

Canonical = Callable[[str], str]
"""Makes two names of one file equal. Only whoever can see the files can do it fully."""


class Segment(msgspec.Struct, frozen=True):
    """Calls that run together, or one that runs alone."""

    calls: tuple[ToolCall, ...]

    @property
    def concurrent(self) -> bool:
        """Is there anything to run side by side?"""
        return len(self.calls) > 1


class _Touch(msgspec.Struct, frozen=True):
    """What a call touches: no path at all, or one that it reads or writes."""

    path: str | None = None
    writes: bool = False


def segments(
    calls: Sequence[ToolCall], rules: ToolRules, canonical: Canonical = posixpath.normpath
) -> tuple[Segment, ...]:
    """The calls in order, cut into segments."""
    found: list[Segment] = []
    together: list[ToolCall] = []
    touched: list[_Touch] = []
    for call in calls:
        touch = _touch(call, rules, canonical)
        if touch is None or any(_clash(touch, other) for other in touched):
            found += _closed(together)
            together, touched = [], []
        if touch is None:
            found.append(Segment((call,)))
        else:
            together.append(call)
            touched.append(touch)
    return *found, *_closed(together)


def _closed(calls: Iterable[ToolCall]) -> list[Segment]:
    together = tuple(calls)
    return [Segment(together)] if together else []


def _touch(call: ToolCall, rules: ToolRules, canonical: Canonical) -> _Touch | None:
    """What has to be known to run it beside others; None: it runs alone."""
    company = rule_of(rules, call.name).company
    arguments = arguments_of(call)
    if company == "alone" or arguments is None:
        return None
    if company == "any":
        return _Touch()
    path = arguments.get("path")
    if not isinstance(path, str) or not path:
        return None
    return _Touch(canonical(path), company == "writes_path")


def _clash(one: _Touch, other: _Touch) -> bool:
    if one.path is None or other.path is None or not (one.writes or other.writes):
        return False
    if one.path.startswith("/") != other.path.startswith("/"):
        return True  # nobody here knows where the relative one begins
    short, long = sorted((one.path.rstrip("/"), other.path.rstrip("/")), key=len)
    return short in ("", ".") or long == short or long.startswith(f"{short}/")
