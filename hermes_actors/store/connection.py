"""Opening the file: ours or nobody's, never a newer one, and always with the same settings."""

from __future__ import annotations

import os
import re
from pathlib import Path

import apsw
import msgspec

from hermes_actors.errors import ConfigError, StoreTooNew
from hermes_actors.failpoints import Point, failpoint
from hermes_actors.store.faults import translate
from hermes_actors.store.migrations import APPLICATION_ID, Migration, known, migrate

_NETWORK_FILESYSTEMS = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "afs",
        "ceph",
        "lustre",
        "fuse.sshfs",
        "fuse.glusterfs",
    }
)


class StoreSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the store lives and how it works. The defaults suit one gateway on one machine."""

    path: str
    readers: int = 3
    """How many reads may run at the same time."""
    batch: int = 256
    """How many waiting writes may share one transaction."""
    busy_timeout: float = 5.0
    """How long to wait for another process that holds the file."""
    patience: float = 20.0
    """How long one batch may take, even while everything is shutting down."""
    checkpoint_pages: int = 4000
    """How long the write-ahead file may get (in pages of 4 KiB) before it is folded back."""
    checkpoint_idle: float = 2.0
    """How long nothing must have been written before it is folded back anyway."""
    max_pages: int = 0
    """The largest size of the file, in pages of 4 KiB; 0 for no limit but the disk."""
    inline: bool = False
    """Work in the caller's thread. For virtual time, whose clock would outrun a thread."""
    trace: bool = False
    """Record each answer in the journal (`store.acked`), not only each commit. For tests."""


def open_writer(
    settings: StoreSettings,
    migrations: tuple[Migration, ...] | None = None,
    *,
    may_create: bool = True,
) -> apsw.Connection:
    """The one connection that writes, with the schema brought up to date.

    Raises `StoreTooNew` or `ConfigError` for a file that is not ours to write, leaving its bytes
    as they are, and `StoreRefused` for a fault of the place.
    """
    steps = known() if migrations is None else migrations
    refuse_network(settings.path, _mounts())
    try:
        if may_create:
            _prepare_place(settings.path)
        db = apsw.Connection(settings.path, flags=apsw.SQLITE_OPEN_READWRITE)
    except (apsw.Error, OSError) as error:
        raise translate(error) from error
    try:
        failpoint(Point.STORE_OPEN)
        _refuse_foreign(db, settings.path, newest=len(steps))
        _configure_writer(db, settings)
        migrate(db, steps)
    except (apsw.Error, OSError) as error:
        db.close()
        raise translate(error) from error
    except BaseException:
        db.close()
        raise
    return db


def open_reader(settings: StoreSettings) -> apsw.Connection:
    """A connection that can only read. The writer must have been opened before."""
    try:
        db = apsw.Connection(settings.path, flags=apsw.SQLITE_OPEN_READONLY)
        db.set_busy_timeout(int(settings.busy_timeout * 1000))
        _plan_once(db)
        db.execute("PRAGMA query_only = 1; PRAGMA cache_size = -4000")
    except apsw.Error as error:
        raise translate(error) from error
    return db


def _plan_once(db: apsw.Connection) -> None:
    """Make the plan of a statement independent of its values.

    Otherwise SQLite compiles a statement anew whenever a value is bound that it has compared with
    the condition of a partial index; we have many of those, and it took a tenth of a turn.
    """
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def _prepare_place(path: str) -> None:
    """Make the folder and an empty file that only its owner can read; words are private."""
    folder = Path(path).parent
    folder.mkdir(parents=True, exist_ok=True)
    if not os.path.exists(path):
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        _flush_folder(folder)


def _flush_folder(folder: Path) -> None:
    """A file's name is kept by its folder: without this a power cut may take both."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refuse_foreign(db: apsw.Connection, path: str, *, newest: int) -> None:
    # Closing the last connection would fold the write-ahead file into a database that we are
    # about to refuse; it must keep its bytes.
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    ours, version = db.pragma("application_id"), db.pragma("user_version")
    tables = db.execute("SELECT count(*) FROM sqlite_schema").get
    if ours != APPLICATION_ID and (ours or version or tables):
        raise ConfigError([f"store: '{path}' is a SQLite file of another program; choose another"])
    if version > newest:
        raise StoreTooNew(
            f"'{path}' has schema {version} and this version knows {newest}: "
            "start the newer version again, or restore the backup made before the upgrade"
        )
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)


def _configure_writer(db: apsw.Connection, settings: StoreSettings) -> None:
    db.set_busy_timeout(int(settings.busy_timeout * 1000))
    mode = db.pragma("journal_mode", "wal")
    if mode != "wal":
        raise ConfigError([f"store: '{settings.path}' cannot use a write-ahead log (got '{mode}')"])
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    _plan_once(db)
    db.pragma("foreign_keys", 1)
    db.pragma("synchronous", "full")
    # Folding the log back is our decision: in idle time, and never while somebody waits.
    db.pragma("wal_autocheckpoint", 0)
    db.pragma("cell_size_check", 1)
    db.pragma("cache_size", -16000)
    if settings.max_pages:
        db.pragma("max_page_count", settings.max_pages)


def refuse_network(path: str, mounts: str) -> None:
    """Raise `ConfigError` where locks are only a rumour. `mounts` is as in `/proc/*/mountinfo`."""
    kind = filesystem_of(os.path.realpath(path), mounts)
    if kind in _NETWORK_FILESYSTEMS:
        raise ConfigError(
            [
                f"store: '{path}' is on a network filesystem ({kind}), where its locks do not hold;"
                " choose a folder on a local disk"
            ]
        )


def filesystem_of(path: str, mounts: str) -> str:
    """The type of the filesystem below `path`; '' where the table does not tell."""
    best, kind = "", ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split(" ")
        mount = _unescaped(fields[4]) if len(fields) > 4 else ""
        inside = path == mount or path.startswith(mount.rstrip("/") + "/")
        if mount and inside and len(mount) >= len(best):
            best, kind = mount, right.split(" ")[0]
    return kind


def _unescaped(field: str) -> str:
    """The kernel writes a space in a mount point as `\\040`, and likewise tab, newline, slash."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), field)


def _mounts() -> str:
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
