"""Where every task stands, as text. Readable from another thread while Trio is stuck."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import FrameType
from typing import TextIO

import trio


class TaskList:
    """The tasks of one Trio run, to be read from outside of it."""

    def __init__(self) -> None:
        self._root: trio.lowlevel.Task | None = None

    def attach(self) -> None:
        """Call it once inside the run."""
        self._root = trio.lowlevel.current_root_task()

    def write(self, out: TextIO) -> None:
        """Every task, parents first, with the line at which it waits."""
        for depth, task in _all_tasks(self._root, 0):
            out.write(f"{'  ' * depth}task {task.name}: {_place(task)}\n")


def _all_tasks(
    task: trio.lowlevel.Task | None, depth: int
) -> Iterator[tuple[int, trio.lowlevel.Task]]:
    if task is None:
        return
    yield depth, task
    for nursery in tuple(task.child_nurseries):
        for child in tuple(nursery.child_tasks):
            yield from _all_tasks(child, depth + 1)


def _place(task: trio.lowlevel.Task) -> str:
    frames = list(task.iter_await_frames())
    if not frames:
        return "about to end"
    # The innermost line that is not Trio's own; for a task that is all Trio's, the outermost.
    own = [each for each in frames if not _module(each[0]).startswith("trio.")]
    frame, line = own[-1] if own else frames[0]
    code = frame.f_code
    source = linecache.getline(code.co_filename, line).strip()
    return f"{_module(frame)}:{line} in {code.co_qualname}: {source}"


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "?"))
