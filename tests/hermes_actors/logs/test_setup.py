from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog

from hermes_actors.journal import Journal
from hermes_actors.logs import LineWriter, start_logging
from hermes_actors.redact import Redactor

SECRET = "hunter2-hunter2"


class Log:
    """A log in memory, read back line by line."""

    def __init__(self, level: str, form: Any) -> None:
        self._stream = io.StringIO()
        self._writer = LineWriter(self._stream)
        self.logs = start_logging(self._writer, Redactor([SECRET]), level=level, form=form)

    def lines(self) -> list[str]:
        assert self._writer.flush(30.0)
        return self._stream.getvalue().splitlines()

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines()]


@contextmanager
def logging_to(level: str = "info", form: Any = "json") -> Iterator[Log]:
    before = logging.getLogger().handlers[:]
    log = Log(level, form)
    try:
        yield log
    finally:
        log.logs.close()
        logging.getLogger().handlers = before


def test_a_transition_is_one_line_with_its_ids() -> None:
    with logging_to() as log:
        Journal(log.logs.read, clock=lambda: 7.0).note("run.started", run="r1", session="s1")
        assert log.entries() == [
            {"at": 7.0, "level": "info", "event": "run.started", "run": "r1", "session": "s1"}
        ]


def test_people_get_one_readable_line_and_values_cannot_pretend_to_be_more() -> None:
    with logging_to(form="console") as log:
        journal = Journal(log.logs.read)
        journal.note("run.ended", run="r1", reason='a "b"\nlevel=error', count=3, none=None)
        (line,) = log.lines()
        assert line[8:] == (
            ' info    run.ended run=r1 reason="a \\"b\\"\\nlevel=error" count=3 none=null'
        )


@pytest.mark.parametrize(
    ("level", "heard"),
    [
        ("debug", ["actor.started", "run.started", "letter.dead", "actor.crashed"]),
        ("info", ["run.started", "letter.dead", "actor.crashed"]),
        ("warning", ["letter.dead", "actor.crashed"]),
        ("error", ["actor.crashed"]),
    ],
)
def test_each_kind_has_its_level(level: str, heard: list[str]) -> None:
    with logging_to(level) as log:
        journal = Journal(log.logs.read)
        for kind in ("actor.started", "run.started", "letter.dead", "actor.crashed"):
            journal.note(kind)
        assert [entry["event"] for entry in log.entries()] == heard


def test_secrets_are_hidden_in_every_road_to_the_log() -> None:
    with logging_to("debug") as log:
        Journal(log.logs.read).note("x", deep={"list": [SECRET]}, **{SECRET: 1})
        structlog.get_logger().warning(f"words {SECRET}", token="abc", error=ValueError(SECRET))
        logging.getLogger("foreign").error("said %s", SECRET)
        try:
            raise RuntimeError(SECRET)
        except RuntimeError as error:
            logging.getLogger("foreign").exception("failed")
            structlog.get_logger().error("failed", exc_info=error)
        assert len(log.entries()) == 5
        assert SECRET not in "\n".join(log.lines())
        assert sum("RuntimeError: ***" in line for line in log.lines()) == 2


def test_what_json_cannot_say_still_makes_a_line_and_keeps_the_reader() -> None:
    with logging_to() as log:
        journal = Journal(log.logs.read)
        journal.note("odd", half="\ud800", huge=10**40, thing=object, at="mine")
        journal.note("next")
        odd, after = log.entries()
        assert (odd["half"], odd["huge"], odd["at_"]) == ("\ud800", 10**40, "mine")
        assert after["event"] == "next"


def test_bound_context_is_part_of_our_own_lines() -> None:
    with logging_to() as log, structlog.contextvars.bound_contextvars(run="r9"):
        structlog.get_logger().info("hello", extra=1)
        (entry,) = log.entries()
        assert {key: entry[key] for key in ("event", "run", "extra")} == {
            "event": "hello",
            "run": "r9",
            "extra": 1,
        }
