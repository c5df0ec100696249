from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
import trio
import trio.testing

from hermes_actors.errors import ActorGone, StoreRefused
from hermes_actors.store import Read, Readers
from hermes_actors.store.connection import open_writer
from hermes_actors.store.sql import Sql, value
from tests.hermes_actors.store.house import running, settings_in, threads_left

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def endless(sql: Sql) -> int:
    return int(value(sql, ENDLESS))


def one(sql: Sql) -> int:
    return int(value(sql, "SELECT 1"))


def reader_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("store")]


@pytest.fixture
def readers(tmp_path: Path) -> Iterator[Readers]:
    settings = settings_in(tmp_path, readers=2)
    writer = open_writer(settings)
    yield Readers(settings)
    writer.close()


async def test_more_readers_than_connections_wait_their_turn(readers: Readers) -> None:
    gate, inside = threading.Barrier(3), list[int]()

    def meet(sql: Sql) -> int:
        gate.wait(10)
        return one(sql)

    await readers.open()
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(readers.run, meet)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(readers.run, lambda _: inside.append(1))
        await trio.testing.wait_all_tasks_blocked()
        assert inside == []
        await trio.to_thread.run_sync(gate.wait)
    assert inside == [1]
    await readers.close()
    assert reader_threads() == []


async def test_leaving_a_query_ends_it_at_once_and_harms_nobody_after(readers: Readers) -> None:
    await readers.open()
    # Many times, and at ever other moments: an interrupt that comes too late would hit the next.
    for pause in range(60):
        with trio.move_on_after(pause * 0.0002):
            await readers.run(endless)
        assert await readers.run(one) == 1
        assert await readers.run(one) == 1
    await readers.close()


async def test_a_cut_short_read_gives_its_place_back(readers: Readers) -> None:
    await readers.open()
    for _ in range(5):
        with trio.CancelScope() as scope:
            scope.cancel()
            await readers.run(one)
    assert await readers.run(one) == 1
    await readers.close()


async def test_closing_refuses_those_who_wait_and_lets_running_reads_end(readers: Readers) -> None:
    gate, log = threading.Event(), list[str]()

    async def read(name: str) -> None:
        await trio.lowlevel.checkpoint()
        try:
            await readers.run(lambda _: gate.wait(10))
            log.append(f"{name} read")
        except ActorGone:
            log.append(f"{name} refused")

    await readers.open()
    async with trio.open_nursery() as nursery:
        for name in ("a", "b"):
            nursery.start_soon(read, name)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(read, "c")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(readers.close)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(read, "d")
        await trio.testing.wait_all_tasks_blocked()
        gate.set()
    assert sorted(log) == ["a read", "b read", "c refused", "d refused"]
    assert reader_threads() == []


async def test_a_close_that_is_cut_interrupts_reads_that_would_never_end(readers: Readers) -> None:
    await readers.open()
    async with trio.open_nursery() as nursery:
        with trio.CancelScope() as reading:
            async with trio.open_nursery() as reads:
                reads.start_soon(readers.run, endless)
                await trio.testing.wait_all_tasks_blocked()
                with trio.move_on_after(0.05):
                    await readers.close()
                reading.cancel()
        nursery.cancel_scope.cancel()
    assert await trio.to_thread.run_sync(threads_left, "store") == []


async def test_while_the_files_are_opened_anew_reads_wait_and_after_a_failure_they_are_refused(
    readers: Readers,
) -> None:
    answers = list[str]()

    async def read(name: str) -> None:
        await trio.lowlevel.checkpoint()
        try:
            answers.append(f"{name} {await readers.run(one)}")
        except ActorGone as gone:
            answers.append(f"{name} {gone.reason}")

    await readers.open()
    async with trio.open_nursery() as nursery:
        await readers.close(for_now=True)
        nursery.start_soon(read, "first")
        await trio.testing.wait_all_tasks_blocked()
        assert answers == []
        await readers.open()
    async with trio.open_nursery() as nursery:
        await readers.close(for_now=True)
        nursery.start_soon(read, "second")
        await trio.testing.wait_all_tasks_blocked()
        await readers.close()
    assert answers == ["first 1", "second it is not open"]


async def test_readers_can_be_opened_again(readers: Readers) -> None:
    with pytest.raises(ActorGone, match="not open"):
        await readers.run(one)
    for _ in range(2):
        await readers.open()
        assert await readers.run(one) == 1
        await readers.close()
    with pytest.raises(ActorGone, match="not open"):
        await readers.run(one)


async def test_a_reader_cannot_write_and_a_wrong_question_harms_nobody(tmp_path: Path) -> None:
    async with running(tmp_path, readers=1) as house:
        with pytest.raises(StoreRefused, match="cannot be written"):
            await house.store.read(Read(lambda sql: value(sql, "DELETE FROM notes")))
        with pytest.raises(apsw.SQLError, match="no such table"):
            await house.store.read(Read(lambda sql: value(sql, "SELECT x FROM nowhere")))
        with pytest.raises(ZeroDivisionError):
            await house.store.read(Read(lambda _: 1 // 0))
        assert await house.store.read(Read(one)) == 1
