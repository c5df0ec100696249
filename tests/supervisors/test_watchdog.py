"""The watchdog alone. That it really ends a process is shown in test_gateway_process."""

from __future__ import annotations

import sys
import threading
from typing import TextIO

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from supervisors.stacks import TaskList
from supervisors.watchdog import Watchdog


class Ending:
    """Stands in for the end of the process."""

    def __init__(self) -> None:
        self.codes: list[int] = []
        self.happened = threading.Event()

    def __call__(self, code: int) -> None:
        self.codes.append(code)
        self.happened.set()


def say_tasks(out: TextIO) -> None:
    out.write("task one: at line 7\n")


def raise_instead(out: TextIO) -> None:
    raise RuntimeError("tasks moved")


def test_it_writes_where_everyone_stands_and_ends_the_process_with_75(
    capfd: pytest.CaptureFixture[str],
) -> None:
    ending = Ending()
    watchdog = Watchdog(say_tasks, end=ending)
    watchdog.arm(0.0, "no end 3 s after SIGTERM")
    assert ending.happened.wait(30)
    watchdog.close()
    said = capfd.readouterr().err
    assert ending.codes == [75]
    assert said.startswith("watchdog: no end 3 s after SIGTERM; ending the process.")
    assert "task one: at line 7\n" in said
    assert "Thread 0x" in said


def test_tasks_that_cannot_be_read_do_not_keep_it_from_ending_the_process(
    capfd: pytest.CaptureFixture[str],
) -> None:
    ending = Ending()
    watchdog = Watchdog(raise_instead, end=ending)
    watchdog.arm(0.0, "stuck")
    assert ending.happened.wait(30)
    watchdog.close()
    assert "could not be read: RuntimeError('tasks moved')" in capfd.readouterr().err


def test_an_earlier_due_time_stands_and_an_even_earlier_one_replaces_it() -> None:
    ending = Ending()
    watchdog = Watchdog(say_tasks, end=ending)
    watchdog.arm(3600.0, "first")
    watchdog.arm(7200.0, "later: ignored")
    assert watchdog.why == "first"
    watchdog.arm(0.0, "sooner")
    assert ending.happened.wait(30)
    assert watchdog.why == "sooner"
    watchdog.close()


def test_closed_in_time_it_does_nothing() -> None:
    ending = Ending()
    watchdog = Watchdog(say_tasks, end=ending)
    watchdog.arm(3600.0, "never")
    watchdog.close()
    assert ending.codes == []


async def test_the_task_list_names_every_task_and_the_line_at_which_it_waits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tasks = TaskList()
    tasks.write(sys.stdout)
    assert capsys.readouterr().out == ""
    tasks.attach()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever, name="the waiting one")
        await wait_all_tasks_blocked()
        tasks.write(sys.stdout)
        nursery.cancel_scope.cancel()
    said = capsys.readouterr().out
    assert "task the waiting one: trio._timeouts" in said
    assert said.startswith("task <init>:")
