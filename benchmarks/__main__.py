"""Measure, print, and say by the exit code whether a target was missed."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from functools import partial

import trio

from benchmarks.result import Verdict
from benchmarks.rounds import FULL, TINY, Size
from benchmarks.subjects import SUBJECTS, Subject
from benchmarks.table import head, line
from benchmarks.turns import peers


def main(arguments: Sequence[str] | None = None, subjects: Mapping[str, Subject] = SUBJECTS) -> int:
    """Measure the named subjects, or all of them; 1 if any target is missed."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=", ".join(subjects))
    parser.add_argument(
        "--tiny", action="store_true", help="run everything in miniature; the numbers mean nothing"
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        choices=peers.PEERS,
        help="measure that gateway beside us",
    )
    wanted = parser.parse_args(arguments)
    unknown = [name for name in wanted.subjects if name not in subjects]
    if unknown:
        parser.error(f"no subject is called '{unknown[0]}'; there are: {', '.join(subjects)}")
    chosen = {name: subjects[name] for name in wanted.subjects or subjects}
    try:
        chosen |= {name: _beside(name) for name in wanted.peer}
    except peers.NotInstalled as missing:
        parser.error(str(missing))
    missed = report(chosen, TINY if wanted.tiny else FULL)
    print(f"\n{missed} missed" if missed else "\nevery target is met")
    return 1 if missed else 0


def _beside(name: str) -> Subject:
    peers.venv_of(peers.PEERS[name])  # better now than after minutes of measuring
    return partial(peers.measure, peers.PEERS[name])


def report(subjects: Mapping[str, Subject], size: Size) -> int:
    """Print a line for each result as it comes; how many targets were missed."""
    print(f"{machine()}\n\n{head()}", flush=True)
    missed = 0
    for name, measure in subjects.items():
        for result in measure(size):
            missed += result.verdict is Verdict.MISS
            print(line(name, result), flush=True)
    return missed


def machine() -> str:
    """The machine in general terms, and how busy others keep it."""
    cores, load = os.cpu_count(), os.getloadavg()[0]
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{cores} cores, {python}, Trio {trio.__version__}; load before: {load:.1f}"


if __name__ == "__main__":
    sys.exit(main())
