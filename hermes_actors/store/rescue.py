"""Saving what can still be read from a damaged file into a new one.

Each table is read from its beginning as far as it goes, and from its end as far as that goes; what
lies between is lost and is counted. Rows that point to something lost are mended where that is
possible, because words matter more than their frame. The indexes for searching are made anew.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import msgspec

from hermes_actors.errors import StoreRefused
from hermes_actors.store import faults
from hermes_actors.store.backup import refuse_to_replace
from hermes_actors.store.connection import StoreSettings, open_reader, open_writer

_STUB = (
    "INSERT OR IGNORE INTO sessions (id, session_key, agent_id, platform, started_at, updated_at) "
    "SELECT DISTINCT session_id, 'rescued:' || session_id, 'main', 'rescued', 0, 0 FROM {table} "
    "WHERE session_id IS NOT NULL"
)


class Rescued(msgspec.Struct, frozen=True):
    """How many rows of each table were saved, which tables were damaged, and what was let go."""

    saved: dict[str, int]
    damaged: tuple[str, ...]
    let_go: int


def rescue(path: str, to: str) -> Rescued:
    """Save what can be read at `path` into a new store at `to`. The old file is not changed.

    Raises `StoreRefused` when nothing at all can be read. The gateway must not be running.
    """
    refuse_to_replace(to)
    old = open_reader(StoreSettings(path=path))
    try:
        _refuse_the_unreadable(old, path)
        new = open_writer(StoreSettings(path=to))
        try:
            return _transfer(old, new)
        finally:
            new.close()
    finally:
        old.close()


def _refuse_the_unreadable(old: apsw.Connection, path: str) -> None:
    try:
        list(old.execute("SELECT name FROM sqlite_schema"))
    except apsw.Error as error:
        raise StoreRefused(
            "corrupt", f"nothing can be read from '{path}' ({error}): restore the last backup"
        ) from error


def _transfer(old: apsw.Connection, new: apsw.Connection) -> Rescued:
    new.execute("PRAGMA foreign_keys = 0; BEGIN IMMEDIATE")
    saved, damaged = dict[str, int](), list[str]()
    for table, order in _tables(new):
        if not _save(old, new, table, order):
            damaged.append(table)
        saved[table] = new.execute(f"SELECT count(*) FROM {table}").get
    let_go = _mend(new)
    for index in ("messages_fts", "messages_trigram"):
        new.execute(f"INSERT INTO {index}({index}) VALUES ('rebuild')")
    new.execute("COMMIT")
    return Rescued(saved, tuple(damaged), let_go)


def _tables(new: apsw.Connection) -> Iterator[tuple[str, str]]:
    """Each ordinary table of ours, with the columns that order it."""
    listed = list(new.execute("SELECT name, wr FROM pragma_table_list WHERE type = 'table'"))
    for name, without_rowid in sorted(listed):
        if name.startswith("sqlite_"):
            continue
        keys = [column for column, _ in _primary_key(new, name)] if without_rowid else ["rowid"]
        yield name, ", ".join(f"{key} {{way}}" for key in keys)


def _primary_key(db: apsw.Connection, table: str) -> list[tuple[str, int]]:
    statement = "SELECT name, pk FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk"
    return list(db.execute(statement, (table,)))


def _save(old: apsw.Connection, new: apsw.Connection, table: str, order: str) -> bool:
    """Whether the table could be read from one end to the other."""
    known = {name for (name,) in old.execute("SELECT name FROM pragma_table_info(?)", (table,))}
    ours = [name for (name,) in new.execute("SELECT name FROM pragma_table_info(?)", (table,))]
    columns = ", ".join(name for name in ours if name in known)
    if not columns:
        return not known  # a table that the old version did not have
    marks = ", ".join("?" for name in ours if name in known)
    put = f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})"
    for way in ("ASC", "DESC"):
        try:
            read = f"SELECT {columns} FROM {table} ORDER BY {order.format(way=way)}"
            for row in old.execute(read):
                new.execute(put, row)
        except (apsw.CorruptError, apsw.IOError):
            continue
        return way == "ASC"
    return False


def _mend(new: apsw.Connection) -> int:
    """Give words without a session a new one; free or let go of what points nowhere."""
    for table in ("messages", "bindings", "runs", "tool_calls", "outbox"):
        new.execute(_STUB.format(table=table))
    lost = "run_id NOT IN (SELECT id FROM runs)"
    new.execute(f"UPDATE inbox SET state = 'queued' WHERE state = 'claimed' AND {lost}")
    for table in ("inbox", "messages", "outbox"):
        new.execute(f"UPDATE {table} SET run_id = NULL WHERE {lost}")
    new.execute(
        "UPDATE sessions SET parent_id = NULL WHERE parent_id NOT IN (SELECT id FROM sessions)"
    )
    before = new.total_changes()
    for table in ("tool_calls", "approvals"):
        new.execute(f"DELETE FROM {table} WHERE {lost}")
    for table in ("approvals", "handoffs"):
        new.execute(f"DELETE FROM {table} WHERE session_id NOT IN (SELECT id FROM sessions)")
    if left := list(new.execute("PRAGMA foreign_key_check")):
        raise faults.refusal(faults.CORRUPT, f"{len(left)} rows still point nowhere")
    return new.total_changes() - before
