"""A connection that one thread uses and any thread may interrupt."""

from __future__ import annotations

import threading

import apsw


class Grip:
    """Holds at most one connection.

    SQLite forbids to interrupt a connection that is being closed. So a connection is taken out of
    the grip first, under the lock, and closed after; the lock is never held for longer than that.
    """

    def __init__(self, db: apsw.Connection | None = None) -> None:
        self._db = db
        self._lock = threading.Lock()

    @property
    def db(self) -> apsw.Connection | None:
        """The connection, for the thread that owns it."""
        return self._db

    def hold(self, db: apsw.Connection) -> apsw.Connection:
        """Hold this one. The grip must be empty."""
        assert self._db is None
        self._db = db
        return db

    def interrupt(self) -> None:
        """Make the running statement fail soon; nothing happens when there is none."""
        with self._lock:
            if self._db is not None:
                self._db.interrupt()

    def close(self) -> None:
        """Let go of the connection, if there is one, and close it."""
        with self._lock:
            db, self._db = self._db, None
        if db is not None:
            db.close()
