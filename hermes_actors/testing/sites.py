"""Where a task stands: the line of your code at which it waits."""

from __future__ import annotations

import contextlib
import functools
import linecache
import os
from types import FrameType

import msgspec
import trio

_FOREIGN = (
    os.path.dirname(trio.__file__) + os.sep,
    os.path.dirname(__file__) + os.sep,
    contextlib.__file__,
)


class Site(msgspec.Struct, frozen=True):
    """A line of code, and the task that stood there."""

    file: str
    line: int
    function: str
    source: str
    task: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}: {self.source}  (task {self.task})"


def site_of(task: trio.lowlevel.Task) -> Site:
    """The innermost line of a suspended task that is neither Trio's nor a double's."""
    place: tuple[FrameType, int] | None = None
    for frame, line in task.iter_await_frames():
        if place is None or not frame.f_code.co_filename.startswith(_FOREIGN):
            place = frame, line
    if place is None:
        return Site("?", 0, "?", "", task.name)
    frame, line = place
    path = frame.f_code.co_filename
    source = linecache.getline(path, line).strip()
    return Site(_short(path), line, frame.f_code.co_qualname, source, task.name)


@functools.cache
def _short(path: str) -> str:
    inside = path.startswith(os.getcwd() + os.sep)
    return os.path.relpath(path) if inside else path
