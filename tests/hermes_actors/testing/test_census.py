from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import trio
from trio.testing import MockClock

from hermes_actors.testing import take_census
from hermes_actors.testing.census import living_tasks

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process holds")


def grown(before: dict[str, int]) -> dict[str, int]:
    """What there is more of than before."""
    return {
        what: count - before[what] for what, count in take_census().items() if count > before[what]
    }


async def test_a_task_counts_while_it_lives(autojump_clock: MockClock) -> None:
    before = take_census()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 1)
        assert grown(before) == {"tasks": 1}
        assert "trio.sleep" in living_tasks()
    assert grown(before) == {}


def test_outside_a_run_there_are_no_tasks() -> None:
    assert take_census()["tasks"] == 0
    assert take_census()["threads"] >= 1


def test_a_thread_of_ones_own_counts() -> None:
    before, leave = take_census(), threading.Event()
    thread = threading.Thread(target=leave.wait)
    thread.start()
    assert grown(before) == {"threads": 1}
    leave.set()
    thread.join()
    assert grown(before) == {}


async def test_a_worker_thread_that_trio_keeps_does_not_count() -> None:
    before = take_census()
    await trio.to_thread.run_sync(lambda: None)
    assert "threads" not in grown(before)


@LINUX
def test_an_open_file_counts() -> None:
    before = take_census()
    reading, writing = os.pipe()
    assert grown(before) == {"fds": 2}
    os.close(reading)
    os.close(writing)
    assert grown(before) == {}


@LINUX
def test_a_child_process_counts_until_it_is_waited_for() -> None:
    before = take_census()
    with subprocess.Popen(["sleep", "60"]) as child:
        assert grown(before)["processes"] == 1
        child.kill()
    assert grown(before) == {}
