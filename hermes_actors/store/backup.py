"""A copy of the store, made while it is in use.

The copy is one file, whole and folded, as of one moment. It appears under its name only when it
is complete and was checked, so a copy that exists is a good one.
"""

from __future__ import annotations

import os

import apsw

from hermes_actors.errors import StoreRefused
from hermes_actors.store.connection import StoreSettings, open_reader
from hermes_actors.store.faults import translate


def back_up(path: str, to: str) -> None:
    """Copy the store at `path` to a new file. The gateway may go on meanwhile.

    Raises `StoreRefused` when the source cannot be read, or the copy exists or cannot be made.
    """
    refuse_to_replace(to)
    part = f"{to}.part"
    try:
        _copy(path, part)
        os.rename(part, to)
    except (apsw.Error, OSError) as error:
        raise translate(error) from error
    finally:
        if os.path.exists(part):
            os.unlink(part)


def refuse_to_replace(path: str) -> None:
    """Raise unless nothing is there: a backup must never cost another one."""
    if os.path.exists(path):
        raise StoreRefused("exists", f"'{path}' exists already: choose another name")


def damage(path: str) -> list[str]:
    """What is wrong with a file, in the engine's words; an empty list is what you want."""
    db = open_reader(StoreSettings(path=path))
    try:
        said = [line for (line,) in db.execute("PRAGMA integrity_check(20)")]
    except apsw.Error as error:
        return [str(error)]
    finally:
        db.close()
    return [] if said == ["ok"] else said


def _copy(path: str, part: str) -> None:
    # Words are private: the file is made for its owner alone, and filled after.
    os.close(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o600))
    db = open_reader(StoreSettings(path=path))
    try:
        # What may be written is the copy; the source is open for reading only, whatever happens.
        db.execute("PRAGMA query_only = 0")
        db.execute("VACUUM INTO ?", (part,))
    finally:
        db.close()
    if wrong := damage(part):
        raise StoreRefused("corrupt", f"the copy of '{path}' is damaged: {'; '.join(wrong)}")
    _flush(part)


def _flush(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
