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

COMMAND = str(Path(sys.executable).with_name("hermes-actors"))


def measure(size: Size) -> Iterator[Result]:
    """Milliseconds of whole processes; the interpreter's own start is in each, and said beside."""
    rounds = size.rounds
    bare = _typical_run([sys.executable, "-c", ""], rounds)
    yield _result("import hermes_actors", "import hermes_actors", 150, bare, rounds)
    yield _result(
        "import the runtime and the store",
        "import hermes_actors.runtime, hermes_actors.store",
        None,
        bare,
        rounds,
    )
    yield Result(
        name="hermes-actors --help",
        value=_typical_run([COMMAND, "--help"], rounds),
        unit="ms",
        target=at_most(400),
        beside=_beside(bare),
    )


def _result(name: str, code: str, bound: float | None, bare: float, rounds: int) -> Result:
    return Result(
        name=name,
        value=_typical_run([sys.executable, "-c", code], rounds),
        unit="ms",
        target=None if bound is None else at_most(bound),
        beside=_beside(bare),
    )


def _beside(bare: float) -> str:
    return f"a bare interpreter {number(bare)} ms, not subtracted (wall-clock time)"


def _typical_run(command: list[str], rounds: int) -> float:
    subprocess.run(command, check=True, capture_output=True)  # warms the caches of the disk

    def once() -> float:
        begin = perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return 1000 * (perf_counter() - begin)

    return typical(once, rounds)
