from __future__ import annotations

import threading

import pytest
import trio
import trio.testing

from hermes_actors.errors import ActorGone
from hermes_actors.store.worker import InlineWorker, ThreadWorker
from tests.hermes_actors.store.house import threads_left


class Kettle:
    """A blocking thing with a memory: boils until it is told to go on, or interrupted."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.boiling = threading.Event()
        self.go_on = threading.Event()
        self.closed_in: str | None = None

    def boil(self, name: str) -> str:
        self.log.append(f"{name} begins")
        self.boiling.set()
        assert self.go_on.wait(10)
        self.go_on.clear()
        self.log.append(f"{name} ends")
        return name

    def pour(self, name: str) -> str:
        self.log.append(name)
        return name

    def interrupt(self) -> None:
        self.log.append("interrupted")
        self.go_on.set()

    def close(self) -> None:
        self.log.append("closed")
        self.closed_in = threading.current_thread().name


def threads_of_ours() -> list[str]:
    """Those that live right now."""
    return [each.name for each in threading.enumerate() if each.name == "kettle"]


async def until_boiling(kettle: Kettle) -> None:
    assert await trio.to_thread.run_sync(kettle.boiling.wait, 10)
    kettle.boiling.clear()


async def test_leaving_is_immediate_and_the_thing_is_free_only_when_it_is_done() -> None:
    kettle, freed = Kettle(), trio.Event()
    worker = ThreadWorker(lambda: kettle, "kettle")
    await worker.open()
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(worker.run, lambda k: k.boil("a"), freed.set)
            await until_boiling(kettle)
            scope.cancel()
    await freed.wait()
    assert kettle.log == ["a begins", "interrupted", "a ends"]
    await worker.close()


async def test_a_job_that_was_left_before_it_began_is_not_begun_and_interrupts_nobody() -> None:
    kettle, freed = Kettle(), trio.Event()
    worker = ThreadWorker(lambda: kettle, "kettle")
    await worker.open()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.run, lambda k: k.boil("first"))
        await until_boiling(kettle)
        with trio.CancelScope() as scope:
            scope.cancel()
            await worker.run(lambda k: k.pour("never"), freed.set)
        kettle.go_on.set()
    await freed.wait()
    assert await worker.run(lambda k: k.pour("last")) == "last"
    assert kettle.log == ["first begins", "first ends", "last"]
    await worker.close()


async def test_closing_waits_for_what_was_asked_before_and_happens_once() -> None:
    kettle = Kettle()
    worker = ThreadWorker(lambda: kettle, "kettle")
    await worker.open()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.run, lambda k: k.boil("a"))
        await until_boiling(kettle)
        nursery.start_soon(worker.close)
        await trio.testing.wait_all_tasks_blocked()
        kettle.go_on.set()
    await worker.close()
    assert kettle.log == ["a begins", "a ends", "closed"]
    assert kettle.closed_in == "kettle"
    assert threads_of_ours() == []


async def test_leaving_a_close_hurries_it_and_the_thing_is_closed_all_the_same() -> None:
    kettle = Kettle()
    worker = ThreadWorker(lambda: kettle, "kettle")
    await worker.open()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(worker.run, lambda k: k.boil("a"))
        await until_boiling(kettle)
        with trio.CancelScope() as scope:
            scope.cancel()
            await worker.close()
    assert await trio.to_thread.run_sync(threads_left, "kettle") == []
    assert kettle.log == ["a begins", "interrupted", "a ends", "closed"]


async def test_a_thing_that_cannot_be_made_is_told_and_leaves_no_thread() -> None:
    def broken() -> Kettle:
        raise ValueError("no water")

    worker = ThreadWorker(broken, "kettle")
    with pytest.raises(ValueError, match="no water"):
        await worker.open()
    with pytest.raises(ActorGone, match="not open"):
        await worker.run(lambda k: k.pour("x"))
    await worker.close()
    assert threads_of_ours() == []


async def test_closing_what_was_never_opened_does_nothing() -> None:
    await ThreadWorker(Kettle, "kettle").close()
    await InlineWorker(Kettle, "kettle").close()


class Deaf(Kettle):
    """It does not hear interrupts, as a disk that hangs."""

    def interrupt(self) -> None:
        self.log.append("not heard")


def test_a_run_of_trio_that_ends_without_closing_leaves_nothing_open() -> None:
    kettle = Deaf()

    async def forgetful() -> None:
        worker = ThreadWorker(lambda: kettle, "kettle")
        await worker.open()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(worker.run, lambda k: k.boil("a"))
            await until_boiling(kettle)
            nursery.cancel_scope.cancel()

    trio.run(forgetful)
    (thread,) = (each for each in threading.enumerate() if each.name == "kettle")
    kettle.go_on.set()
    thread.join(5)
    assert kettle.log == ["a begins", "not heard", "a ends", "closed"]


async def test_inline_a_cut_use_frees_the_thing_and_a_closed_one_refuses() -> None:
    worker, freed = InlineWorker(Kettle, "kettle"), list[str]()
    await worker.open()
    with trio.CancelScope() as scope:
        scope.cancel()
        await worker.run(lambda k: k.pour("never"), lambda: freed.append("freed"))
    assert freed == ["freed"]
    assert await worker.run(lambda k: k.pour("tea")) == "tea"
    await worker.close()
    await worker.close()
    with pytest.raises(ActorGone, match="not open"):
        await worker.run(lambda k: k.pour("x"), lambda: freed.append("again"))
    assert freed == ["freed", "again"]
