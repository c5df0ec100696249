from __future__ import annotations

import os
import threading
from functools import partial
from pathlib import Path

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from hermes_actors.errors import ActorGone, StoreRefused
from hermes_actors.store import Read, Write, all_of, notes
from hermes_actors.store.sql import Sql, value
from hermes_actors.testing.event_log import EventLog
from hermes_actors.testing.invariants import assert_invariants
from tests.hermes_actors.store.house import (
    House,
    content_of,
    names_in,
    note,
    running,
    size_of,
    threads_left,
)


class Gate:
    """A write that waits in the writer's thread until the test lets it go on."""

    def __init__(self, name: str) -> None:
        self.reached, self.open = threading.Event(), threading.Event()
        self.write: Write[str] = Write(self._do)
        self._name = name

    def _do(self, sql: Sql) -> str:
        self.reached.set()
        assert self.open.wait(10)
        note(self._name).do(sql)
        return self._name

    async def wait(self) -> None:
        assert await trio.to_thread.run_sync(self.reached.wait, 10)


async def test_whoever_is_answered_finds_it_in_the_file(tmp_path: Path) -> None:
    async with running(tmp_path) as house:
        for name in ("a", "b"):
            await house.store.write(note(name))
            assert name in house.on_disk()
            assert await house.store.read(notes.get("test", name)) == 1


async def test_waiting_writes_share_a_commit_and_each_gets_its_own_answer(tmp_path: Path) -> None:
    log, answers, gate = EventLog(), dict[int, object](), Gate("first")

    async def write(house: House, number: int) -> None:
        answers[number] = await house.store.write(Write(lambda _: number * 10))

    async with running(tmp_path, log=log) as house, trio.open_nursery() as nursery:
        nursery.start_soon(house.store.write, gate.write)
        await gate.wait()
        for number in range(100):
            nursery.start_soon(write, house, number)
        await trio.testing.wait_all_tasks_blocked()
        gate.open.set()
    assert answers == {number: number * 10 for number in range(100)}
    assert [len(entry["ops"]) for entry in log.of("store.committed")] == [1, 100]


async def test_a_refused_write_leaves_no_trace_and_harms_no_neighbour(tmp_path: Path) -> None:
    gate = Gate("first")

    def half(sql: Sql) -> None:
        note("half").do(sql)
        raise StoreRefused("conflict", "no")

    async with running(tmp_path) as house:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.store.write, gate.write)
            await gate.wait()
            nursery.start_soon(house.write, "before", note("before"))
            nursery.start_soon(house.write, "half", Write(half))
            nursery.start_soon(house.write, "after", note("after"))
            await trio.testing.wait_all_tasks_blocked()
            gate.open.set()
        assert house.heard == {"before": "written", "half": "conflict", "after": "written"}
        assert house.on_disk() == ["after", "before", "first"]


async def test_several_writes_as_one_stand_or_fall_together(tmp_path: Path) -> None:
    async with running(tmp_path) as house:
        assert await house.store.write(all_of(note("a"), notes.delete("test", "a"))) == (None, True)
        with pytest.raises(ZeroDivisionError):
            await house.store.write(all_of(note("b"), Write(lambda _: 1 // 0)))
        assert house.on_disk() == []


async def test_a_durable_write_waits_for_the_disk_and_takes_its_neighbours_along(
    tmp_path: Path,
) -> None:
    full, normal, levels, gate = 2, 1, dict[str, object](), Gate("first")

    async def level(house: House, name: str, *, durable: bool) -> None:
        asked = Write(lambda sql: value(sql, "PRAGMA synchronous"), durable)
        levels[name] = await house.store.write(asked)

    async with running(tmp_path) as house:
        await level(house, "durable", durable=True)
        await level(house, "not durable", durable=False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.store.write, gate.write)
            await gate.wait()
            nursery.start_soon(partial(level, house, "together 1", durable=False))
            nursery.start_soon(partial(level, house, "together 2", durable=True))
            await trio.testing.wait_all_tasks_blocked()
            gate.open.set()
    assert levels == {
        "durable": full,
        "not durable": normal,
        "together 1": full,
        "together 2": full,
    }


async def test_a_bug_in_an_operation_is_its_askers_and_its_words_stay_out_of_the_log(
    tmp_path: Path,
) -> None:
    def buggy(sql: Sql) -> None:
        raise KeyError("what Ann said")

    log = EventLog()
    async with running(tmp_path, log=log) as house:
        with pytest.raises(KeyError, match="Ann"):
            await house.store.write(Write(buggy, name="buggy"))
        await house.store.write(note("a"))
    assert [entry.data for entry in log.of("store.operation_failed")] == [
        {"write": "buggy", "error": "KeyError"}
    ]
    assert not any("Ann" in line for line in log.lines())


async def test_an_asker_that_leaves_in_time_is_not_served_and_one_that_leaves_late_is(
    tmp_path: Path,
) -> None:
    gate = Gate("in hand")
    async with running(tmp_path) as house:
        with trio.CancelScope() as impatient:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(house.store.write, gate.write)
                await gate.wait()
                nursery.start_soon(house.store.write, note("still waiting"))
                await trio.testing.wait_all_tasks_blocked()
                impatient.cancel()
        gate.open.set()
        await house.store.write(note("next"))
        assert house.on_disk() == ["in hand", "next"]


async def test_a_stop_finishes_the_batch_in_hand_and_refuses_the_rest(tmp_path: Path) -> None:
    gate = Gate("in hand")
    async with running(tmp_path) as house, trio.open_nursery() as nursery:
        nursery.start_soon(house.write, "in hand", gate.write)
        await gate.wait()
        nursery.start_soon(house.write, "waiting", note("waiting"))
        await trio.testing.wait_all_tasks_blocked()
        house.life.stop("shutdown")
        gate.open.set()
        await house.over.wait()
        house.box.close("shutdown")
        for envelope in house.box.drain():
            assert envelope.reply is not None
            envelope.reply.refuse(ActorGone("store", "shutdown"))
    assert house.heard == {"in hand": "written", "waiting": "shutdown"}
    assert names_in(house.settings.path) == ["in hand"]


async def test_a_drain_writes_everything_that_waits(tmp_path: Path) -> None:
    gate = Gate("first")
    async with running(tmp_path) as house:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.store.write, gate.write)
            await gate.wait()
            for name in ("a", "b", "c"):
                nursery.start_soon(house.store.write, note(name))
            await trio.testing.wait_all_tasks_blocked()
            house.life.drain("shutdown")
            with pytest.raises(ActorGone):
                await house.store.write(note("too late"))
            gate.open.set()
        await house.over.wait()
    assert names_in(house.settings.path) == ["a", "b", "c", "first"]


async def test_a_closed_store_is_one_file(tmp_path: Path) -> None:
    async with running(tmp_path) as house:
        await house.store.write(note("a"))
    assert os.listdir(tmp_path) == ["hermes.db"]
    assert names_in(tmp_path / "hermes.db") == ["a"]
    assert os.stat(tmp_path / "hermes.db").st_mode & 0o777 == 0o600


async def test_commits_come_before_answers_and_the_log_says_so(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    log = EventLog()
    async with running(tmp_path, log=log, inline=True, trace=True) as house:
        await house.store.write(note("a"))
        with pytest.raises(ZeroDivisionError):
            await house.store.write(Write(lambda _: 1 // 0, name="bad"))
        await house.store.write(note("b"))
    assert [(entry.kind, entry.data) for entry in log.of("store.")] == [
        ("store.opened", {}),
        ("store.committed", {"ops": ["1.1"]}),
        ("store.acked", {"op": "1.1", "write": "notes.put"}),
        ("store.operation_failed", {"write": "bad", "error": "ZeroDivisionError"}),
        ("store.committed", {"ops": ["1.2"]}),
        ("store.acked", {"op": "1.2", "write": "notes.put"}),
        ("store.closed", {}),
    ]
    assert_invariants(log)


async def test_the_log_is_folded_back_in_idle_time(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with running(tmp_path, inline=True, checkpoint_idle=2.0) as house:
        await house.store.write(note("folded back"))
        await trio.sleep(1.9)
        assert b"folded back" not in content_of(house.settings.path)
        await trio.sleep(0.2)
        assert b"folded back" in content_of(house.settings.path)


async def test_a_long_log_is_folded_back_without_waiting_for_idle_time(tmp_path: Path) -> None:
    async with running(tmp_path, checkpoint_pages=20, checkpoint_idle=1000.0) as house:
        for number in range(60):
            await house.store.write(note(f"n{number}", "x" * 4000))
        assert size_of(house.settings.path + "-wal") < 100 * 4096
        assert len(house.on_disk()) == 60


async def test_a_disk_that_hangs_is_given_up_and_the_asker_is_told(tmp_path: Path) -> None:
    gate, log = Gate("stuck"), EventLog()
    async with running(tmp_path, log=log, grace=0.1, patience=0.1) as house:
        with pytest.raises(ActorGone, match="WriterStuck"):
            await house.store.write(gate.write)
        await house.over.wait()
        gate.open.set()
    assert house.ended is not None
    assert "1 writes got no answer in 0.1 s" in str(house.ended.error)


async def test_a_read_that_never_ends_does_not_keep_the_store_from_closing(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT count(*) FROM n"
    async with running(tmp_path) as house:
        await house.store.write(note("a"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.read, "r", Read(lambda sql: value(sql, endless)))
            await trio.testing.wait_all_tasks_blocked()
            house.life.stop("shutdown")
            with trio.fail_after(5):
                await house.over.wait()
    assert house.heard == {"r": "it was closed before the query had ended"}
    assert names_in(house.settings.path) == ["a"]


async def test_nothing_is_left_alive_after_a_store(tmp_path: Path) -> None:
    for _ in range(2):
        async with running(tmp_path) as house:
            await house.store.write(note("a"))
    assert threads_left("store") == []
