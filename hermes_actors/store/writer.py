"""Group commit: many writes, one transaction, one answer each.

Each write runs in a savepoint of its own, so a refused one leaves no trace and harms no neighbour.
The batch is then committed as a whole, and only after that does anyone hear of success. When the
whole transaction is lost (disk full at commit, for example), nobody is told that it worked.

This code runs in the writer's own thread and knows nothing of Trio.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import apsw
import outcome

from hermes_actors.errors import StoreRefused
from hermes_actors.failpoints import Point, failpoint
from hermes_actors.store import faults
from hermes_actors.store.connection import StoreSettings, open_writer
from hermes_actors.store.grip import Grip
from hermes_actors.store.operation import Write

Result = outcome.Value[object] | outcome.Error


class FilesVanished(Exception):
    """The log beside the database was deleted: every connection must let go and open anew.

    Nothing of the batch was begun, and everything committed before is safe in the database.
    """


class Writer:
    """The one writing connection, with its settings and its suspicion."""

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._grip = Grip()
        self._level = "full"
        self.pages = 0
        """How much of the log is not folded back yet."""
        self._folded = 0
        self._suspect = False
        """Some faults leave a connection in doubt: it is opened anew before it is used again."""
        self._open()
        self._identity = self._look()

    def interrupt(self) -> None:
        """Make a running statement fail soon. Safe from other threads."""
        self._grip.interrupt()

    def commit_together(self, writes: Sequence[Write[Any]]) -> list[Result]:
        """Run and commit `writes`; the result of each, in order.

        A fault of the place becomes a `StoreRefused` for those it hit. Raises only what the store
        itself cannot explain; nothing of the batch was confirmed then.
        """
        try:
            return self._commit(self._ready(), writes)
        except (apsw.Error, OSError, StoreRefused) as error:
            refused = self._explain(error)
            self._roll_back()
            return self._after_fault(writes, refused)
        except BaseException:
            self._roll_back()
            raise

    def checkpoint(self) -> None:
        """Fold the write-ahead log into the database, as far as readers allow; never waits."""
        failpoint(Point.STORE_CHECKPOINT)
        if (db := self._grip.db) is None:
            return
        try:
            total, self._folded = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error as error:
            raise self._explain(error) from error
        self.pages = total - self._folded

    def close(self) -> None:
        """Fold everything back, leaving a single file, and let go of it."""
        failpoint(Point.STORE_CLOSE)
        try:
            if (db := self._grip.db) is not None:
                self._fold_back(db)
        except apsw.Error as error:
            # What is committed stays in the log and is found by the next start.
            raise self._explain(error) from error
        finally:
            self._let_go()

    # ---------------------------------------------------------------------------------------

    def _open(self, *, may_create: bool = True) -> apsw.Connection:
        db = open_writer(self._settings, may_create=may_create)
        db.set_wal_hook(self._count_pages)
        self._level, self._folded = "full", 0
        return self._grip.hold(db)

    def _count_pages(self, _db: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._folded:
            self._folded = 0  # the log has begun again from its start
        self.pages = pages - self._folded
        return apsw.SQLITE_OK

    def _commit(self, db: apsw.Connection, writes: Sequence[Write[Any]]) -> list[Result]:
        self._set_level(db, "full" if any(write.durable for write in writes) else "normal")
        db.execute("BEGIN IMMEDIATE")
        failpoint(Point.STORE_BATCH_BEGIN)
        results = [self._run(db, write) for write in writes]
        failpoint(Point.STORE_COMMIT_BEFORE)
        db.execute("COMMIT")
        failpoint(Point.STORE_COMMIT_AFTER)
        return results

    def _run(self, db: apsw.Connection, write: Write[Any]) -> Result:
        db.execute("SAVEPOINT one")
        try:
            answer = write.do(db)
        except Exception as error:  # border to the operations: told to the asker
            if not db.in_transaction:
                raise  # SQLite has already rolled back everything: the batch is lost
            db.execute("ROLLBACK TO one")
            db.execute("RELEASE one")
            return outcome.Error(self._explain(error))
        db.execute("RELEASE one")
        failpoint(Point.STORE_BATCH_MIDDLE)
        return outcome.Value(answer)

    def _after_fault(self, writes: Sequence[Write[Any]], refused: Exception) -> list[Result]:
        full = isinstance(refused, StoreRefused) and refused.kind == faults.FULL
        if full and len(writes) > 1:
            # One large write must not refuse its small neighbours: each gets its own chance.
            return [self._commit_alone(write) for write in writes]
        return [outcome.Error(refused) for _ in writes]

    def _commit_alone(self, write: Write[Any]) -> Result:
        try:
            return self.commit_together([write])[0]
        except FilesVanished as gone:
            # Its neighbours may be committed already, so the batch must not be tried again.
            return outcome.Error(faults.refusal(faults.MOVED, str(gone)))

    def _explain(self, error: Exception) -> Exception:
        db = self._grip.db
        explained = faults.translate(error, 0 if db is None else db.system_errno)
        if isinstance(explained, StoreRefused) and explained.kind in faults.REOPEN_AFTER:
            self._suspect = True
        return explained

    def _roll_back(self) -> None:
        db = self._grip.db
        if db is not None and db.in_transaction:
            try:
                db.execute("ROLLBACK")
            except apsw.Error:
                # Closing rolls back as well, and cannot fail to.
                self._suspect = True

    def _set_level(self, db: apsw.Connection, level: str) -> None:
        if level != self._level:
            db.pragma("synchronous", level)
            self._level = level

    def _ready(self) -> apsw.Connection:
        """The connection, fit for use; refuses while the path leads to another file, or none."""
        if (now := self._look())[0] != self._identity[0]:
            raise faults.refusal(faults.MOVED, self._settings.path)
        db = self._grip.db
        if db is not None and now != self._identity:
            # A newcomer would start a second log beside ours. Ours still has everything: save it.
            db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            raise FilesVanished(self._settings.path)
        if db is None or self._suspect:
            db = self._reopen()
        return db

    def _reopen(self) -> apsw.Connection:
        """Open anew, but never make a new file: that would be a silent fresh start."""
        self._let_go()
        db = self._open(may_create=False)
        self._identity, self._suspect = self._look(), False
        return db

    def _fold_back(self, db: apsw.Connection) -> None:
        db.set_busy_timeout(250)  # somebody else reads? then the log simply stays
        db.execute("PRAGMA optimize")
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _let_go(self) -> None:
        """Close without folding back into a file that is no longer the one at the path."""
        db = self._grip.db
        if db is not None and self._look()[0] != self._identity[0]:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        self._grip.close()

    def _look(self) -> tuple[object, ...]:
        """Which files the path leads to, so that a swap is noticed before it can do harm."""
        return tuple(_identity(self._settings.path + end) for end in ("", "-wal", "-shm"))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
