"""Every test of a command leaves a log in which all invariants hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.invariants import assert_invariants


@pytest.fixture
def log() -> Iterator[EventLog]:
    log = EventLog()
    yield log
    assert_invariants(log, complete=not log.stays_open)
