"""What is asked at every start, or all the time, must not read the whole house to find a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_actors.store import (
    Read,
    StoreSettings,
    Write,
    approvals,
    bindings,
    cron,
    handoffs,
    inbox,
    letters,
    messages,
    outbox,
    recovery,
    runs,
    sessions,
    tool_calls,
)
from hermes_actors.store.connection import open_reader, open_writer
from tests.hermes_actors.store.desk import Desk
from tests.hermes_actors.store.test_inbox import message
from tests.hermes_actors.store.test_runs import begun, reply


class Explained:
    """Stands before the engine and keeps, for each statement, how the engine will find its rows."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.steps: list[str] = []

    def execute(self, statements: str, bindings: Any = None) -> Any:
        self.steps += self._desk.plan(statements, bindings)
        return self._desk.rehearse(statements, bindings)

    def full_scans(self) -> list[str]:
        scans = [step for step in self.steps if step.startswith("SCAN ")]
        return [step for step in scans if "INDEX" not in step and "CONSTANT ROW" not in step]


AT_BOOT: list[Read[Any] | Write[Any]] = [
    recovery.orphans(),
    recovery.orphans("s1"),
    recovery.doubt(now=9.0),
    recovery.end_orphan("r1", now=9.0),
    runs.owing_hook(),
    inbox.waiting_sessions(),
    outbox.heads(now=9.0),
    outbox.next_due(),
    letters.unannounced(),
    handoffs.claimable(now=9.0),
]
ALL_THE_TIME: list[Read[Any] | Write[Any]] = [
    inbox.accept(message("m2"), now=2.0),
    inbox.queued("k"),
    runs.running("s1"),
    runs.of_session("s1"),
    messages.transcript("s1"),
    messages.page("s1"),
    tool_calls.of_run("r1"),
    outbox.queue(reply("r1/x"), now=2.0),
    outbox.take(1, now=2.0),
    outbox.of_run("r1"),
    bindings.find("k"),
    bindings.quiet(since=5.0),
    bindings.leading_to("s1"),
    sessions.get("s1"),
    sessions.latest(),
    approvals.pending("s1"),
    cron.last("job"),
]


@pytest.mark.parametrize("asked", AT_BOOT + ALL_THE_TIME, ids=lambda asked: str(asked.name))
def test_no_table_is_read_whole(desk: Desk, asked: Read[Any] | Write[Any]) -> None:
    begun(desk, "m1")
    desk.do(outbox.queue(reply("waiting"), now=1.0))
    explained = Explained(desk)
    if isinstance(asked, Read):
        asked.look(explained)
    else:
        asked.do(explained)
    assert explained.steps != []
    assert explained.full_scans() == []


def test_a_plan_does_not_depend_on_values_so_that_it_is_made_once(tmp_path: Path) -> None:
    settings = StoreSettings(path=str(tmp_path / "db"))
    for db in (open_writer(settings), open_reader(settings)):
        assert db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1) == 1
        db.close()
