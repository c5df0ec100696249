"""Fixtures for pytest: a journal, the log that it writes, and the doubles, wired together.

The imports are inside the fixtures on purpose: pytest loads this file at every start, in projects
that have nothing to do with us.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hermes_actors.journal import Journal
    from hermes_actors.testing.event_log import EventLog
    from hermes_actors.testing.fake_client import FakeRemoteClient
    from hermes_actors.testing.fake_platform import FakePlatform
    from hermes_actors.testing.scripted_model import ScriptedModel


@pytest.fixture
def event_log() -> Iterator[EventLog]:
    """What `journal` has written. When the test is over, every invariant must hold on it.

    By then everything has ended, so a run or a message left open is a violation too. A test
    that leaves off in the middle on purpose says `event_log.stays_open = True`.
    """
    from hermes_actors.testing.event_log import EventLog
    from hermes_actors.testing.invariants import assert_invariants

    log = EventLog()
    yield log
    assert_invariants(log, complete=not log.stays_open)


@pytest.fixture
def journal(event_log: EventLog) -> Journal:
    """A journal that writes to `event_log` and takes its time from Trio's clock."""
    from hermes_actors.testing.event_log import recorded

    return recorded(event_log)


@pytest.fixture
def scripted_model(journal: Journal) -> Iterator[ScriptedModel]:
    """A model that says what `scripted_model.script(…)` tells it to, and was not asked for more.

    Lines that nobody asked for are no failure; `scripted_model.lines_left` counts them.
    """
    from hermes_actors.testing.scripted_model import ScriptedModel

    model = ScriptedModel(journal=journal)
    yield model
    assert model.complaint is None, model.complaint


@pytest.fixture
def fake_platform(journal: Journal) -> FakePlatform:
    """A chat platform in memory."""
    from hermes_actors.testing.fake_platform import FakePlatform

    return FakePlatform(journal=journal)


@pytest.fixture
def fake_client(journal: Journal) -> FakeRemoteClient:
    """A remote client that lends tools; start `fake_client.serve` to let it answer by itself."""
    from hermes_actors.testing.fake_client import FakeRemoteClient

    return FakeRemoteClient(journal=journal)
