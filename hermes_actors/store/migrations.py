"""The schema's steps: numbered, forward only, each one whole or not at all.

A step and its number are committed together, so a crash in the middle leaves the old schema with
the old number, and the next start tries again. There is no way back down: keep a backup.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import apsw
import msgspec

from hermes_actors.failpoints import Point, failpoint

APPLICATION_ID = 0x4845524D  # "HERM": says whose file this is, also to the `file` command


class Migration(msgspec.Struct, frozen=True):
    """One step: the version it leads to, and the statements that do it."""

    version: int
    name: str
    statements: str


@cache
def known() -> tuple[Migration, ...]:
    """Every step this version has, in order: `schema/0001_*.sql`, `0002_*.sql`, …"""
    folder = resources.files("hermes_actors.store").joinpath("schema")
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    steps = tuple(
        Migration(int(f.name[:4]), f.name[5:-4], f.read_text(encoding="utf-8")) for f in files
    )
    if [step.version for step in steps] != list(range(1, len(steps) + 1)):
        raise RuntimeError(f"migrations are not numbered 1, 2, 3, …: {[f.name for f in files]}")
    return steps


def migrate(db: apsw.Connection, steps: tuple[Migration, ...]) -> int:
    """Apply what is missing; the version reached."""
    for step in steps:
        if db.pragma("user_version") < step.version:
            _apply(db, step)
    return int(db.pragma("user_version"))


def _apply(db: apsw.Connection, step: Migration) -> None:
    failpoint(Point.STORE_MIGRATE_BEFORE)
    db.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been faster while we waited for the lock.
        if db.pragma("user_version") < step.version:
            db.execute(step.statements)
            failpoint(Point.STORE_MIGRATE_MIDDLE)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {step.version}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    failpoint(Point.STORE_MIGRATE_AFTER)
