"""Real threads, real time, many impatient tasks, and a stop at no particular moment.

What the sweep tries step by step on one thread is tried here by chance on several: a statement that
is interrupted just as it ends, a reader that is left while it is handed out, a close that overtakes
a query.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import trio

from hermes_actors.errors import ActorGone
from hermes_actors.store import Read, all_of, notes
from hermes_actors.store.sql import Sql, value
from tests.hermes_actors.store.house import House, names_in, note, running, threads_left

LONG = (
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT {}) SELECT sum(x) FROM n"
)


class Crowd:
    """Tasks that write, read and lose patience, and a book of what they were told."""

    def __init__(self, house: House, dice: random.Random) -> None:
        self.house, self.dice = house, dice
        self.told: list[str] = []
        self.patient_reads = 0

    async def come_and_go(self, name: str) -> None:
        await trio.lowlevel.checkpoint()
        try:
            for number in range(12):
                with trio.move_on_after(self.dice.choice((0.0, 0.0005, 0.002, 1.0))):
                    await self._do_something(f"{name}-{number:02}")
        except ActorGone:
            return  # the store was stopped, as it may be

    async def _do_something(self, name: str) -> None:
        if self.dice.random() < 0.5:
            await self.house.store.write(all_of(note(f"{name}/1"), note(f"{name}/2")))
            self.told += [f"{name}/1", f"{name}/2"]
        elif self.dice.random() < 0.5:
            size = self.dice.choice((10, 10_000, 300_000))
            await self.house.store.read(Read(lambda sql: _count(sql, size)))
        else:
            before = set(self.told)
            assert before <= set(await self.house.store.read(notes.space("test", limit=-1)))
            self.patient_reads += 1


def _count(sql: Sql, size: int) -> int:
    return int(value(sql, LONG.format(size)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
async def test_nobody_is_harmed_by_the_impatience_of_others(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    async with running(tmp_path, readers=2, batch=8) as house:
        crowd = Crowd(house, dice)
        async with trio.open_nursery() as nursery:
            for number in range(25):
                nursery.start_soon(crowd.come_and_go, f"t{number:02}")
            await trio.sleep(dice.uniform(0.05, 0.4))
            if seed % 2:
                house.life.stop("in the middle of it")
                await house.over.wait()
                nursery.cancel_scope.cancel()
    kept = set(names_in(house.settings.path))
    assert set(crowd.told) <= kept
    assert {name[:-2] for name in kept} == {name[:-2] for name in kept if name.endswith("/2")}
    assert crowd.told
    assert house.ended is not None
    assert house.ended.error is None
    assert await trio.to_thread.run_sync(threads_left, "store") == []
