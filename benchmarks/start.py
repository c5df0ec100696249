"""The time before anything happens: importing the package, and asking the command for help."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from benchmarks.result import Result, at_most
from benchmarks.rounds import Size, typical
from benchmarks.table import number

PUBLIC = "from hermes_actors import Actor, Journal, Mailbox, Ref, Registry, System"
COMMAND = str(Path(sys.executable).with_name("hermes-actors"))


def measure(size: Size) -> Iterator[Result]:
    """Milliseconds of whole processes; the interpreter's own start is in each, and said beside."""
    bare = f"a bare interpreter {_figure(size, '')} ms, not subtracted (wall-clock time)"
    yield _result("import hermes_actors", _python(size, "import hermes_actors"), 150, bare)
    trio = f"`import trio` alone {_figure(size, 'import trio')} ms; {bare}"
    yield _result("import and use all of its names", _python(size, PUBLIC), None, trio)
    yield _result("hermes-actors --help", _whole([COMMAND, "--help"], size.rounds), 400, bare)


def _result(name: str, value: float, bound: float | None, beside: str) -> Result:
    target = None if bound is None else at_most(bound)
    return Result(name=name, value=value, unit="ms", target=target, beside=beside)


def _figure(size: Size, code: str) -> str:
    return number(_python(size, code))


def _python(size: Size, code: str) -> float:
    return _whole([sys.executable, "-c", code], size.rounds)


def _whole(command: list[str], rounds: int) -> float:
    subprocess.run(command, check=True, capture_output=True)  # warms the caches of the disk

    def once() -> float:
        begin = perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return 1000 * (perf_counter() - begin)

    return typical(once, rounds)
