"""Named places at which a test may end or disturb the process.

Each name is a promise that a crash *exactly here* has been tried. In production a failpoint costs
one look at an empty dict. `HERMES_FAILPOINTS="store.commit.before=kill@3"` kills the process at
the third pass; `raise` throws `FailpointHit` instead.
"""

from __future__ import annotations

import os
import signal
from enum import StrEnum


class Point(StrEnum):
    """Every failpoint there is. The crash tests enumerate this list."""

    STORE_OPEN = "store.open"
    STORE_MIGRATE_BEFORE = "store.migrate.before"
    STORE_MIGRATE_MIDDLE = "store.migrate.middle"
    STORE_MIGRATE_AFTER = "store.migrate.after"
    STORE_BATCH_BEGIN = "store.batch.begin"
    STORE_STATEMENT = "store.statement"
    STORE_BATCH_MIDDLE = "store.batch.middle"
    STORE_COMMIT_BEFORE = "store.commit.before"
    STORE_COMMIT_AFTER = "store.commit.after"
    STORE_ANSWER_BEFORE = "store.answer.before"
    STORE_ANSWER_AFTER = "store.answer.after"
    STORE_CHECKPOINT = "store.checkpoint"
    STORE_CLOSE = "store.close"


class FailpointHit(Exception):
    """A failpoint armed with `raise` was passed."""


class _Armed:
    def __init__(self, action: str, passes: int) -> None:
        self.action, self.left = action, passes


_armed: dict[str, _Armed] = {}


def failpoint(point: Point) -> None:
    """Do nothing, unless a test has armed this point."""
    if _armed and (armed := _armed.get(point)) is not None:
        armed.left -= 1
        if armed.left == 0:
            _strike(point, armed.action)


def arm(specification: str) -> None:
    """Arm points from `name=action@pass,…`; an empty string disarms all of them."""
    _armed.clear()
    for part in filter(None, (piece.strip() for piece in specification.split(","))):
        name, _, rest = part.partition("=")
        action, _, passes = rest.partition("@")
        if action not in ("kill", "raise"):
            raise ValueError(f"failpoint action '{action}' is not known; use 'kill' or 'raise'")
        _armed[Point(name)] = _Armed(action, int(passes or 1))


def _strike(point: Point, action: str) -> None:
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise FailpointHit(point)


arm(os.environ.get("HERMES_FAILPOINTS", ""))
