"""Single-row writes from a hundred tasks, each answered only when the disk has it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

import apsw
import trio

from benchmarks.result import Result, at_least
from benchmarks.rounds import Size, in_turns
from benchmarks.store.house import folder, open_store
from benchmarks.table import number
from hermes_actors.store import Store, Write
from hermes_actors.store.connection import StoreSettings, open_writer
from hermes_actors.store.sql import Sql, run

TASKS = 100
ROW = "INSERT INTO notes (space, name, value, updated_at) VALUES ('bench', ?, '1', 0)"


def measure(size: Size) -> Iterator[Result]:
    """Rows per second of wall-clock time, beside the same connection with a commit for each row."""
    each, alone = size.of(200, least=2), size.of(1000)
    with folder() as place:
        files = (place / f"{number}.db" for number in range(2 * size.rounds))
        pair = in_turns(
            lambda: trio.run(partial(_together, next(files), each)),
            lambda: _one_by_one(next(files), alone),
            size.rounds,
        )
    yield Result(
        name=f"durable one-row writes from {TASKS} tasks",
        value=pair.ours,
        unit="/s",
        target=at_least(10_000),
        beside=f"{number(pair.ratio)} times the {number(pair.theirs)}/s of SQLite with a commit "
        "for each (synchronous=FULL, wall-clock time)",
    )


async def _together(file: Path, each: int) -> float:
    async with open_store(file) as store:
        begin = perf_counter()
        async with trio.open_nursery() as nursery:
            for task in range(TASKS):
                nursery.start_soon(_write, store, task, each)
        return TASKS * each / (perf_counter() - begin)


async def _write(store: Store, task: int, times: int) -> None:
    for time in range(times):
        await store.write(Write(partial(_insert, name=f"{task}.{time}")))


def _insert(sql: Sql, *, name: str) -> None:
    run(sql, ROW, (name,))


def _one_by_one(file: Path, count: int) -> float:
    db: apsw.Connection = open_writer(StoreSettings(path=str(file)))
    try:
        begin = perf_counter()
        for row in range(count):
            db.execute("BEGIN IMMEDIATE")
            _insert(db, name=str(row))
            db.execute("COMMIT")
        return count / (perf_counter() - begin)
    finally:
        db.close()
