from __future__ import annotations

import io
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from hermes_actors.journal import Entry, Journal
from hermes_actors.logs import LineWriter, start_logging
from hermes_actors.redact import Redactor
from hermes_actors.testing import DamagedLog, EventLog, check, recorded
from tests.hermes_actors.testing.logs import log_of

STORY = log_of(
    "run.started run=r session=s agent=main",
    "tool.started run=r call=1 tool=t",
    "run.ended run=r state=completed reason=ok",
    "run.started run=q session=s agent=main",
)


def test_a_log_is_asked_by_kind_by_family_and_by_id() -> None:
    assert STORY.of("run.started").kinds() == ["run.started", "run.started"]
    assert STORY.of("run.").kinds() == ["run.started", "run.ended", "run.started"]
    assert STORY.of("run").kinds() == []
    assert [entry.number for entry in STORY.of(run="r")] == [1, 2, 3]
    assert STORY.of("run.", "tool.", run="r", state="completed").kinds() == ["run.ended"]
    assert STORY.without("run.").kinds() == ["tool.started"]
    assert len(STORY.of()) == len(STORY) == 4


def test_an_id_that_an_entry_lacks_does_not_match_none() -> None:
    assert STORY.of("run.started", key=None).kinds() == []


async def test_a_recorded_journal_takes_its_time_from_trio(autojump_clock: MockClock) -> None:
    log = EventLog()
    journal = recorded(log)
    journal.note("early", who="a")
    await trio.sleep(1.5)
    journal.note("late")
    assert log.lines() == ["   1     0.000  early who=a", "   2     1.500  late"]


def test_outside_a_run_time_stands_still() -> None:
    log = EventLog()
    recorded(log).note("before")
    assert log.entries == [Entry(1, 0.0, "before", {})]


def test_a_saved_log_is_read_back_as_it_was(tmp_path: Path) -> None:
    STORY.save(tmp_path / "log")
    assert EventLog.load(tmp_path / "log").entries == STORY.entries


def test_what_json_cannot_say_is_saved_as_its_repr(tmp_path: Path) -> None:
    log = EventLog()
    Journal(log).note("odd", what={1, 2}, when=1 + 2j)
    log.save(tmp_path / "log")
    assert EventLog.load(tmp_path / "log").entries[0].data == {"what": [1, 2], "when": "(1+2j)"}


def test_a_last_line_without_its_end_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log"
    STORY.save(path)
    whole = path.read_bytes()
    for torn in range(1, len(whole.splitlines()[-1]) + 2):
        path.write_bytes(whole[:-torn])
        assert EventLog.load(path).entries == STORY.entries[:3]
    path.write_bytes(b"")
    assert len(EventLog.load(path)) == 0


@pytest.mark.parametrize(
    "line", [b"12:03:44 info actor.started", b"[1]", b"{}", b'{"kind": "x", "data": 3, "at": 0}']
)
def test_a_line_that_is_no_entry_is_named_with_its_file_and_number(
    line: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "log"
    STORY.save(path)
    path.write_bytes(path.read_bytes() + b"\n" + line + b"\n")
    with pytest.raises(DamagedLog, match="log:6: this line is no entry of a log"):
        EventLog.load(path)


def test_the_number_of_a_loaded_entry_is_its_line_also_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for name in ("first", "second"):
        log = EventLog()
        journal = Journal(log)
        journal.note("gateway.started")
        journal.note("run.started", run=name, session="s", agent="main")
        log.save(tmp_path / name)
    path.write_bytes((tmp_path / "first").read_bytes() + (tmp_path / "second").read_bytes())
    assert [str(v) for v in check(EventLog.load(path), complete=False)] == [
        "I7: session 's' started run 'second' during 'first' (entries 2, 4)"
    ]


def test_the_json_log_of_a_gateway_is_checked_as_it_is(tmp_path: Path) -> None:
    stream = io.StringIO()
    logs = start_logging(LineWriter(stream), Redactor(()), level="debug", form="json")
    journal = Journal(logs.read)
    try:
        for entry in STORY:
            journal.note(entry.kind, **entry.data)
        journal.note("typing.sent", run="r")
    finally:
        logs.close()
    (tmp_path / "gateway.log").write_text(stream.getvalue())
    log = EventLog.load(tmp_path / "gateway.log")
    assert log.kinds() == [*STORY.kinds(), "typing.sent"]
    assert [entry.data for entry in log][:4] == [entry.data for entry in STORY]
    assert [str(violation) for violation in check(log, complete=False)] == [
        "I4: run 'r' had ended, and then came typing.sent (entries 3, 5)"
    ]
