"""The process is killed at every named point of the store; then somebody looks at what is left.

Whatever the killed process had been told was kept is there. What it had not been told is there as a
whole or not at all. And the next process goes on as if nothing had been.
"""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_actors.failpoints import Point
from hermes_actors.store.connection import open_writer
from hermes_actors.testing.failpoints import Death, run_until_killed
from tests.hermes_actors.store.house import settings_in

POINTS = [point.value for point in Point if point.value.startswith("store.")]
ROUNDS = {"g1": 5, "g2": 1}
USUAL_PASSES = 30
PASSES = {"store.open": 1, "store.close": 1, "store.statement": 400}
PASSES |= {f"store.migrate.{when}": 2 for when in ("before", "middle", "after")}


class Told:
    """What a process said that it had been told, by kind."""

    def __init__(self) -> None:
        self._said: dict[str, set[str]] = defaultdict(set)

    def hear(self, death: Death) -> None:
        for line in death.stdout.splitlines():
            kind, _, name = line.partition(" ")
            self._said[kind].add(name)

    def __getitem__(self, kind: str) -> set[str]:
        return self._said[kind]


class Remains:
    """What is in the file."""

    def __init__(self, folder: Path) -> None:
        self._db: apsw.Connection = open_writer(settings_in(folder))

    def close(self) -> None:
        self._db.close()

    def rows(self, statement: str) -> list[Any]:
        return list(self._db.execute(statement))

    def column(self, statement: str) -> set[str]:
        return {str(first) for first, *_ in self.rows(statement)}

    def check_form(self) -> None:
        assert self.rows("PRAGMA integrity_check") == [("ok",)]
        assert self.rows("PRAGMA foreign_key_check") == []
        for index in ("messages_fts", "messages_trigram"):
            self.rows(f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)")

    def check_nothing_acked_is_missing(self, told: Told) -> None:
        assert told["accepted"] <= self.column("SELECT key FROM inbox")
        assert told["begun"] <= self.column("SELECT id FROM runs")
        assert told["ended"] <= self.column("SELECT id FROM runs WHERE state = 'completed'")
        assert told["called"] <= self.column(
            "SELECT run_id || '/' || call_id FROM tool_calls WHERE outcome = 'ok'"
        )
        assert told["sent"] <= self.column("SELECT id FROM outbox WHERE state = 'sent'")
        for noted in told["noted"]:
            session, _, content = noted.partition("=")
            assert self.note(session) >= content

    def check_nothing_is_half_there(self) -> None:
        for session in self.column("SELECT id FROM sessions"):
            assert len(self.notes(session)) <= 1
        # A run has exactly its message in hand, and its words; an ended one has its whole end.
        for run, state, claimed, said in self.rows(
            "SELECT id, state, (SELECT count(*) FROM inbox i WHERE i.run_id = r.id), "
            "(SELECT count(*) FROM messages m WHERE m.run_id = r.id AND role = 'user') FROM runs r"
        ):
            assert said == 1, run
            assert claimed == (0 if state == "stopped" else 1), run
        for run, answers, replies, open_calls, inbox in self.rows(
            "SELECT id, (SELECT count(*) FROM messages m WHERE m.run_id = r.id "
            "AND role = 'assistant'), "
            "(SELECT count(*) FROM outbox o WHERE o.key IN (r.id || '/1', r.id || '/2')), "
            "(SELECT count(*) FROM tool_calls c WHERE c.run_id = r.id AND outcome IS NULL), "
            "(SELECT state FROM inbox i WHERE i.run_id = r.id) "
            "FROM runs r WHERE state = 'completed'"
        ):
            assert (answers, replies, open_calls, inbox) == (1, 2, 0, "answered"), run
        assert (
            self.rows(
                "SELECT * FROM tool_calls c WHERE outcome = 'ok' AND NOT EXISTS (SELECT 1 FROM "
                "messages m WHERE m.run_id = c.run_id AND m.tool_call_id = c.call_id)"
            )
            == []
        )

    def note(self, session: str) -> str:
        return max(self.notes(session), default="")

    def notes(self, session: str) -> set[str]:
        return self.column(
            f"SELECT json_extract(value, '$') FROM notes WHERE name LIKE '{session}/%'"
        )

    def check(self, told: Told) -> None:
        self.check_form()
        self.check_nothing_acked_is_missing(told)
        self.check_nothing_is_half_there()


def look(folder: Path, told: Told) -> None:
    remains = Remains(folder)
    try:
        remains.check(told)
    finally:
        remains.close()


def work(folder: Path, generation: str, seed: int, point: str | None, at_pass: int = 1) -> Death:
    return run_until_killed(
        "tests.hermes_actors.store.workload",
        str(folder),
        generation,
        str(seed),
        str(ROUNDS[generation]),
        failpoint=point,
        at_pass=at_pass,
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_loses_nothing_that_was_told_and_leaves_nothing_half_done(
    tmp_path: Path, point: str, seed: int
) -> None:
    at_pass = random.Random(f"{point} {seed}").randint(1, PASSES.get(point, USUAL_PASSES))
    told, folder = Told(), tmp_path / "killed"
    death = work(folder, "g1", seed, point, at_pass)
    if not death.killed:  # a point that is seldom passed
        folder = tmp_path / "killed at the first pass"
        death = work(folder, "g1", seed, point)
    assert death.killed, death
    told.hear(death)
    look(folder, told)
    again = work(folder, "g2", seed, None)
    assert again.returncode == 0, again.stderr
    told.hear(again)
    assert "g2" in told["finished"]
    look(folder, told)


def test_a_process_that_nobody_kills_says_all_it_should(tmp_path: Path) -> None:
    told = Told()
    told.hear(work(tmp_path, "g1", 1, None))
    assert len(told["accepted"]) == len(told["begun"]) == len(told["ended"]) == 20
    assert told["recovered"] == set()
    look(tmp_path, told)
