"""Measuring in a process of its own, where nothing of an earlier measurement is left in memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import msgspec


class ChildFailed(Exception):
    """A measuring process did not end well; its last words are the message."""


def figures(function: Callable[..., None], *arguments: object) -> dict[str, Any]:
    """Call `function` in a new process, with its arguments as text; the figures that it tells."""
    done = launch(function, *arguments)
    if done.returncode:
        words = done.stderr.decode(errors="replace")[-2000:]
        raise ChildFailed(f"{function.__qualname__} ended with {done.returncode}: {words}")
    return msgspec.json.decode(done.stdout, type=dict[str, Any])


def launch(function: Callable[..., None], *arguments: object) -> subprocess.CompletedProcess[bytes]:
    """The same without looking at how it ended."""
    name = f"{function.__module__}:{function.__qualname__}"
    command = [sys.executable, "-m", "benchmarks.child", name, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, timeout=300)


def tell(**facts: float) -> None:
    """Print the figures of this process for its parent."""
    print(msgspec.json.encode(facts).decode(), flush=True)


def _call(name: str, *arguments: str) -> None:
    module, _, function = name.partition(":")
    getattr(import_module(module), function)(*arguments)


if __name__ == "__main__":
    _call(*sys.argv[1:])
