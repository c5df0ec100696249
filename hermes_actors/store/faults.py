"""What SQLite's errors mean, and what to do about each.

A fault of the place (disk full, locked, read-only, damaged) refuses a write and leaves the store
alive: when the fault ends, the next write succeeds. `kind` is for programs, the sentence for
people.
"""

from __future__ import annotations

import errno

import apsw

from hermes_actors.errors import StoreRefused

FULL, BUSY, READONLY, CORRUPT = "full", "busy", "readonly", "corrupt"
IO, UNREACHABLE, MOVED, TOO_BIG, INVALID = "io", "unreachable", "moved", "too_big", "invalid"

KINDS = (FULL, BUSY, READONLY, CORRUPT, IO, UNREACHABLE, MOVED, TOO_BIG, INVALID)
"""Every kind of fault. Operations have further words for their own refusals."""

REOPEN_AFTER = frozenset({READONLY, CORRUPT, IO, UNREACHABLE})
"""Faults after which the connection itself is suspect and is opened anew before the next try."""

_SENTENCES = {
    FULL: "the disk (or the database's size limit) is full: free some space; nothing was written",
    BUSY: "another process holds the database: end the other program that has it open, then retry",
    READONLY: "the database cannot be written: check the owner and mode of the file, of the -wal"
    " and -shm files beside it and of its folder, and that the filesystem is not mounted read-only",
    CORRUPT: "the database file is damaged: stop the gateway, keep a copy of the file, restore the"
    " last backup or run the recovery described in docs/store.md",
    IO: "the disk reported an error while reading or writing: look at the system log, check the"
    " disk, then retry",
    UNREACHABLE: "the database file cannot be opened: check that its folder exists, that it may be"
    " written, and that the process may open more files",
    MOVED: "the database file was moved, replaced or deleted while in use: put it back, or restart"
    " the gateway",
    TOO_BIG: "this is larger than the database can hold in one value: send less",
    INVALID: "the database's rules do not allow this",
}

_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (apsw.FullError, FULL),
    (apsw.BusyError, BUSY),
    (apsw.LockedError, BUSY),
    (apsw.ProtocolError, BUSY),
    (apsw.ReadOnlyError, READONLY),
    (apsw.PermissionsError, READONLY),
    (apsw.CorruptError, CORRUPT),
    (apsw.NotADBError, CORRUPT),
    (apsw.IOError, IO),
    (apsw.NoMemError, IO),
    (apsw.CantOpenError, UNREACHABLE),
    (apsw.TooBigError, TOO_BIG),
    (apsw.ConstraintError, INVALID),
    (apsw.MismatchError, INVALID),
)


def refusal(kind: str, detail: str = "") -> StoreRefused:
    """A refusal of this kind, with its sentence and what the engine said."""
    said = f" ({detail})" if detail else ""
    return StoreRefused(kind, f"The store refused: {_SENTENCES[kind]}{said}")


def translate(error: Exception, system_errno: int = 0) -> Exception:
    """A fault as a `StoreRefused`; anything else (a refusal already, or a bug) as it is.

    `system_errno` is what the operating system last told the connection, where there is one.
    """
    if isinstance(error, OSError):
        return _from_errno(error)
    if _ran_out_of_space(error, system_errno):
        return refusal(FULL, str(error))
    for kind_of_error, kind in _KINDS:
        if isinstance(error, kind_of_error):
            return refusal(kind, str(error))
    return error


def _ran_out_of_space(error: Exception, system_errno: int) -> bool:
    """A quota, a size limit, or no room for the shared-memory file: told as I/O errors."""
    said = getattr(error, "extendedresult", None)
    if said == apsw.SQLITE_IOERR_SHMSIZE:
        return True
    return isinstance(error, apsw.IOError) and system_errno in _NO_SPACE


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_WAY = (
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST),
    *(errno.EMFILE, errno.ENFILE, errno.ELOOP, errno.ENAMETOOLONG),
)


def _from_errno(error: OSError) -> StoreRefused:
    if error.errno in _NO_SPACE:
        return refusal(FULL, str(error))
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return refusal(READONLY, str(error))
    if error.errno in _NO_WAY:
        return refusal(UNREACHABLE, str(error))
    return refusal(IO, str(error))
