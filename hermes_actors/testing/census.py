"""How much is alive right now, to be compared with how much will be."""

from __future__ import annotations

import os
import threading

import trio


def take_census() -> dict[str, int]:
    """The counts that a `census` entry carries: tasks, threads, fds, processes.

    Take one at the start of something and one after its end:
    `journal.note("census", moment="start", **take_census())`. Worker threads that Trio keeps for
    the next job do not count. Outside a Trio run there are no tasks; where the system does not
    tell about files and child processes, they count as none.
    """
    return {
        "tasks": _tasks(),
        "threads": sum(not each.name.startswith("Trio thread") for each in threading.enumerate()),
        "fds": _fds(),
        "processes": _processes(),
    }


def living_tasks() -> list[str]:
    """The names of all tasks of this Trio run, parents first."""
    root = trio.lowlevel.current_root_task()
    return [] if root is None else [task.name for task in living_descendants(root)]


def living_descendants(task: trio.lowlevel.Task) -> list[trio.lowlevel.Task]:
    """This task and every task below it, parents first."""
    found = [task]
    for each in found:  # grows while it is read: this visits the whole tree
        found.extend(child for nursery in each.child_nurseries for child in nursery.child_tasks)
    return found


def _tasks() -> int:
    in_run = trio.lowlevel.in_trio_run()
    return trio.lowlevel.current_statistics().tasks_living if in_run else 0


def _fds() -> int:
    try:
        return len(os.listdir("/proc/self/fd"))
    except FileNotFoundError:
        return 0


def _processes() -> int:
    try:
        threads = os.listdir("/proc/self/task")
    except FileNotFoundError:
        return 0
    return sum(_children_of(thread) for thread in threads)


def _children_of(thread: str) -> int:
    try:
        with open(f"/proc/self/task/{thread}/children", "rb") as children:
            return len(children.read().split())
    except (FileNotFoundError, ProcessLookupError):
        return 0  # the thread has just ended, or the kernel does not keep this list
