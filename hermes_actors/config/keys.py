"""Every key there can be, with its type and default: for hints, and to keep the example true."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import FieldInfo

from hermes_actors.config.table import Table
from hermes_actors.config.values import Others, marker

Fields = dict[str, FieldInfo]
_fields: dict[type[Table], Fields] = {}


def fields_of(kind: type[Table]) -> Fields:
    """The fields of one table by the name they have in the file."""
    if kind not in _fields:
        _fields[kind] = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    return _fields[kind]


def core_of(annotation: Any) -> Any:
    """The type without `| None`; TOML has no way to write None, so it only means "not set"."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return annotation
    kinds = [each for each in typing.get_args(annotation) if each is not types.NoneType]
    return kinds[0] if len(kinds) == 1 else annotation


def table_kind(annotation: Any) -> type[Table] | None:
    """The struct behind an annotation, if it stands for a table."""
    core = core_of(annotation)
    return core if isinstance(core, type) and issubclass(core, Table) else None


def all_keys(kind: type[Table], at: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every key below `kind` as ("model.fallbacks[].name", its field).

    A name that the person chooses is written `<name>`, a place in a list `[]`.
    """
    for name, field in fields_of(kind).items():
        if marker(field.type, Others) is not None:
            continue
        key = f"{at}.{name}" if at else name
        inner, suffix = _inside(field.type)
        if inner is None:
            yield key, field
        else:
            yield from all_keys(inner, key + suffix)


def _inside(annotation: Any) -> tuple[type[Table] | None, str]:
    core = core_of(annotation)
    match typing.get_origin(core), typing.get_args(core):
        case origin, (_, value) if origin is dict:
            return table_kind(value), ".<name>"
        case origin, (item, _) if origin is tuple:
            return table_kind(item), "[]"
    return table_kind(core), ""
