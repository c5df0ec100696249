"""A `Config` as TOML text for people: short tables, aligned remarks, no secret.

Written by hand and not by a TOML writer, since those know no remarks, and the remarks are what a
person looks for: which of these did I set, and where does this key come from?
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from hermes_actors.config.keys import fields_of
from hermes_actors.config.problems import under
from hermes_actors.config.secrets import LITERAL, Secret
from hermes_actors.config.table import Table
from hermes_actors.config.values import Others, Span, marker, spell
from hermes_actors.redact import Redactor

_WIDEST = 40
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Member(Struct, frozen=True):
    """One key of a table with its value. `default` is True when the file does not set it."""

    name: str
    value: Any
    key: str
    default: bool = False


class Printer:
    """Prints tables. `written` are the keys that the file sets."""

    def __init__(self, written: frozenset[str], redactor: Redactor) -> None:
        self._written, self._redactor = written, redactor

    def table(self, table: Any, at: str = "", head: str = "", item: bool = False) -> Iterator[str]:
        """The lines of one table and of all tables in it.

        `at` is its key and `head` its name in a TOML header. They differ in lists, whose second
        `item` has the key `routes[1]` and the header `[[routes]]`.
        """
        members = [*self._members(table, at)]
        leaves = [each for each in members if not _opens_tables(each.value)]
        lines = [self._line(each) for each in leaves if each.value is not None]
        unset = [each.name for each in leaves if each.value is None]
        if lines or unset or item or not members:
            yield from ("", f"[[{head}]]" if item else f"[{head}]") if head else ("",)
        yield from aligned(lines)
        if unset:
            yield f"# not set: {', '.join(unset)}"
        for each in members:
            if _opens_tables(each.value):
                yield from self._tables(each, _joined(head, self._name(each.name)))

    def _members(self, table: Any, at: str) -> Iterator[Member]:
        if not isinstance(table, Table):
            yield from (Member(name, value, under(at, name)) for name, value in table.items())
            return
        for name, field in fields_of(type(table)).items():
            value, key = getattr(table, field.name), under(at, name)
            if marker(field.type, Others) is not None:
                yield from self._members(value, at)  # of plugins: beside those of the schema
            elif marker(field.type, Span) is not None:
                yield Member(name, spell(value), key, key not in self._written)
            elif value != {}:
                yield Member(name, value, key, key not in self._written)

    def _tables(self, member: Member, head: str) -> Iterator[str]:
        if not isinstance(member.value, tuple):
            yield from self.table(member.value, member.key, head)
            return
        for place, each in enumerate(member.value):
            yield from self.table(each, f"{member.key}[{place}]", head, item=True)

    def _line(self, member: Member) -> tuple[str, str]:
        remark = "default" if member.default else ", ".join(_origins(member.value))
        return f"{self._name(member.name)} = {self._literal(member.value)}", remark

    def _name(self, name: str) -> str:
        name = self._redactor.text(name)
        return name if _BARE.fullmatch(name) else quoted(name)

    def _literal(self, value: Any) -> str:
        match value:
            case bool():
                return "true" if value else "false"
            case Secret():
                return quoted(self._redactor.text(value.shown()))
            case str() | Path():
                return quoted(self._redactor.text(str(value)))
            case list() | tuple():
                return "[" + ", ".join(map(self._literal, value)) + "]"
            case dict():
                pairs = (f"{self._name(k)} = {self._literal(v)}" for k, v in value.items())
                return "{ " + ", ".join(pairs) + " }" if value else "{}"
            case float() if not math.isfinite(value):
                return "nan" if math.isnan(value) else f"{value:+}"
        return str(value)  # numbers, dates and times are written as Python writes them


def quoted(text: str) -> str:
    """The text as a TOML string in one line, whatever it holds."""
    return '"' + "".join(map(_escaped, text)) + '"'


def aligned(lines: list[tuple[str, str]]) -> Iterator[str]:
    """The lines with their remarks below each other, except beside very long ones."""
    widths = [len(text) for text, remark in lines if remark and len(text) <= _WIDEST]
    width = max(widths, default=0)
    for text, remark in lines:
        yield f"{text:{width}}  # {remark}" if remark else text


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def _opens_tables(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and isinstance(value[0], Table)
    return isinstance(value, Table | dict)


def _joined(head: str, name: str) -> str:
    return f"{head}.{name}" if head else name


def _origins(value: Any) -> Iterator[str]:
    if isinstance(value, Secret):
        # An address without a password has nothing to hide, and nothing to tell.
        if value.origin != LITERAL or any(value.hidden()):
            yield value.origin
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _origins(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _origins(each)
