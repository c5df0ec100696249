"""The seam to the engine: the little of SQL that operations use.

Operations are plain functions over `Sql`. They never begin or end a transaction (the writer does),
they never look at the clock (they are told), and they can be run again after a rollback.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any, Protocol, TypeVar

import msgspec

from hermes_actors.errors import StoreRefused
from hermes_actors.failpoints import Point, failpoint
from hermes_actors.store.states import Moves, before

T = TypeVar("T", bound=msgspec.Struct)
Bindings = Sequence[Any] | Mapping[str, Any]


class Sql(Protocol):
    """What an engine must offer: run one statement, get its rows."""

    def execute(self, statements: str, bindings: Any = None) -> Iterable[Any]:
        """Run one statement and yield its rows as tuples."""


def storable(text: str) -> str:
    """The same text, with half characters (lone surrogates) replaced: UTF-8 cannot hold them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def rows(sql: Sql, kind: type[T], rest: str, bindings: Bindings = ()) -> list[T]:
    """Every row of `SELECT <the fields of kind> <rest>`, as records."""
    fields = kind.__struct_fields__
    found = sql.execute(f"SELECT {names(kind)} {rest}", bound(bindings))
    return [
        msgspec.convert(dict(zip(fields, row, strict=True)), kind, strict=False) for row in found
    ]


def row(sql: Sql, kind: type[T], rest: str, bindings: Bindings = ()) -> T | None:
    """The first such row, or None."""
    found = rows(sql, kind, rest, bindings)
    return found[0] if found else None


def value(sql: Sql, statement: str, bindings: Bindings = ()) -> Any:
    """The first column of the first row, or None when there is no row."""
    for first in list(sql.execute(statement, bound(bindings))):
        return first[0]
    return None


def run(sql: Sql, statement: str, bindings: Bindings = ()) -> list[tuple[Any, ...]]:
    """Run one statement to its end; its rows, if it gives any."""
    failpoint(Point.STORE_STATEMENT)
    return list(sql.execute(statement, bound(bindings)))


def column(sql: Sql, statement: str, bindings: Bindings = ()) -> list[Any]:
    """The first column of every row."""
    return [first for first, *_ in run(sql, statement, bindings)]


@cache
def names(kind: type[msgspec.Struct]) -> str:
    """The columns of a record, in the order of its fields."""
    return ", ".join(kind.__struct_fields__)


@cache
def _insertion(table: str, fields: tuple[str, ...]) -> str:
    marks = ", ".join(f":{name}" for name in fields)
    return f"INSERT INTO {table} ({', '.join(fields)}) VALUES ({marks})"


def insert(sql: Sql, table: str, record: msgspec.Struct, **more: Any) -> None:
    """Insert a record whose fields are named like the columns, plus further columns."""
    fields = {name: getattr(record, name) for name in record.__struct_fields__} | more
    run(sql, _insertion(table, tuple(fields)), fields)


def bound(bindings: Bindings) -> Bindings:
    """Bindings as SQLite takes them."""
    if isinstance(bindings, Mapping):
        return {name: bindable(part) for name, part in bindings.items()}
    return [bindable(part) for part in bindings]


def bindable(value: Any) -> Any:
    """A Python value as SQLite takes it."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, StrEnum):
        return value.value
    return storable(value) if isinstance(value, str) else value


def move(
    sql: Sql, table: str, key: Mapping[str, Any], to: StrEnum, moves: Moves, **also: Any
) -> None:
    """Move a row to state `to`, or raise `StoreRefused` and change nothing.

    `key` names the row; `also` holds further columns to set. The states that may be left come
    from `moves`, so a row that somebody else has already moved on is not touched.
    """
    sets = ", ".join(f"{name} = :set_{name}" for name in also)
    where = " AND ".join(f"{name} = :key_{name}" for name in key)
    leaving = ", ".join(f"'{state}'" for state in before(moves, to))
    bindings = {f"key_{name}": part for name, part in key.items()}
    bindings |= {f"set_{name}": part for name, part in also.items()}
    changed = value(
        sql,
        f"UPDATE {table} SET state = :to{', ' if sets else ''}{sets} "
        f"WHERE {where} AND state IN ({leaving}) RETURNING 1",
        bindings | {"to": to.value},
    )
    if changed is None:
        raise _cannot_move(sql, table, key, to)


def _cannot_move(sql: Sql, table: str, key: Mapping[str, Any], to: StrEnum) -> StoreRefused:
    where = " AND ".join(f"{name} = :{name}" for name in key)
    state = value(sql, f"SELECT state FROM {table} WHERE {where}", key)
    label = f"{table} {'/'.join(str(part) for part in key.values())!r}"
    if state is None:
        return StoreRefused("missing", f"{label} does not exist")
    return StoreRefused("conflict", f"{label} is '{state}' and cannot become '{to}'")


def must(found: T | None, label: str) -> T:
    """The record, or a refusal that names what is missing."""
    if found is None:
        raise StoreRefused("missing", f"{label} does not exist")
    return found
