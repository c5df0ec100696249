"""The home folder: one gateway at a time, private to its owner.

The lock is an open file, not a number written into one. The system lets go of it in the moment
the process ends, however it ends, so there is nothing stale to clean up and no process id to
guess about. What the file says about its holder is for people only; nobody decides by it.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

import msgspec

from hermes_actors.errors import ConfigError, HomeLocked

LOCK_FILE = "gateway.lock"
PRESENCE_FILE = "gateway.json"


class Presence(msgspec.Struct, frozen=True):
    """What a running gateway says about itself to other programs of the same owner."""

    pid: int
    since: float
    version: str
    url: str | None = None


class Home:
    """A home folder that is ours for as long as this object is open."""

    def __init__(self, path: Path) -> None:
        """Take the folder, making it if need be; `HomeLocked` if another gateway has it."""
        self.path = path
        _make_private(path)
        self._lock: int | None = _take_lock(path)

    def announce(self, version: str, url: str | None) -> None:
        """Tell where this gateway can be reached, for `ps`, `status` and the like."""
        presence = Presence(os.getpid(), time.time(), version, url)
        write_private(self.path / PRESENCE_FILE, msgspec.json.encode(presence))

    def close(self) -> None:
        """Give the folder back. Closing twice is fine."""
        lock, self._lock = self._lock, None
        if lock is not None:
            (self.path / PRESENCE_FILE).unlink(missing_ok=True)
            os.close(lock)

    def __enter__(self) -> Home:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def presence(path: Path) -> Presence | None:
    """Who holds this home right now; None when nobody does."""
    if not is_held(path):
        return None
    try:
        return msgspec.json.decode((path / PRESENCE_FILE).read_bytes(), type=Presence)
    except (OSError, msgspec.DecodeError):
        return Presence(pid=0, since=0.0, version="", url=None)  # it is starting or ending


def is_held(path: Path) -> bool:
    """Whether some process has the lock of this home. Takes nothing and changes nothing."""
    try:
        file = os.open(path / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def write_private(path: Path, content: bytes) -> None:
    """Replace a file in one step, readable by its owner alone."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    file = os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, content)
        os.fsync(file)
    finally:
        os.close(file)
    os.replace(fresh, path)


def _make_private(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as failure:
        raise ConfigError(
            [
                f"home: '{path}' cannot be used as home folder: {failure.strerror}; choose another "
                "with --home"
            ]
        ) from failure


def _take_lock(path: Path) -> int:
    try:
        # Not inherited by tool processes: one that outlives us must not keep the home locked.
        file = os.open(path / LOCK_FILE, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as failure:
        raise ConfigError([f"home: '{path}' cannot be written: {failure.strerror}"]) from failure
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(file, 100).decode(errors="replace").strip() or "unknown"
        os.close(file)
        raise HomeLocked(
            f"another gateway (process {holder}) runs in '{path}': stop that one first, or give "
            "this one a home of its own with --home"
        ) from None
    os.ftruncate(file, 0)
    os.write(file, f"{os.getpid()}\n".encode())
    return file
