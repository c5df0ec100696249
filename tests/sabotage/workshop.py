"""Where things are broken: copies of the tree, never the tree itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import msgspec

from tests.sabotage.break_ import Break, StaleBreak

ROOT = Path(__file__).parents[2]
PARTS = ("hermes_actors", "adapters", "supervisors", "tests", "docs", "examples")
FILES = ("pyproject.toml", "hermes.toml.example", "README.md")
_PATIENCE = 10
"""Seconds that one test may hang. Name quick tests, so that being slow is not mistaken for it."""
_MUCH_PATIENCE = 60
_FAILED = 1
_PYTEST = ("-B", "-m", "pytest", "-q", "-x", "--tb=line", "--no-header")


class Verdict(StrEnum):
    """What became of a break."""

    CAUGHT = "caught"
    SURVIVED = "NOT CAUGHT"
    STALE = "STALE"
    UNFAIR = "UNFAIR"


class Trial(msgspec.Struct, frozen=True):
    """One break, what became of it, how long that took, and what there is to say."""

    what: Break
    verdict: Verdict
    seconds: float
    words: str = ""

    def __str__(self) -> str:
        line = f"{self.verdict:<10} {self.seconds:5.1f} s  {self.what.why}  ({self.what.file})"
        return line if self.verdict is Verdict.CAUGHT else f"{line}\n{self.words.rstrip()}"


@contextmanager
def copy_of_the_tree() -> Iterator[Path]:
    """A copy to break things in."""
    with tempfile.TemporaryDirectory(prefix="sabotage-") as folder:
        copy = Path(folder)
        for part in filter(lambda name: (ROOT / name).is_dir(), PARTS):
            shutil.copytree(
                ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__", ".*")
            )
        for name in filter(lambda name: (ROOT / name).is_file(), FILES):
            shutil.copy(ROOT / name, copy / name)
        yield copy


def run_tests(copy: Path, tests: Iterable[str], patience: int) -> tuple[int, str]:
    """Run tests of the copy, on the code of the copy; the exit code and the last words."""
    try:
        done = subprocess.run(
            [sys.executable, *_PYTEST, f"--timeout={patience}", *tests],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=10 * patience,
        )
    except subprocess.TimeoutExpired:
        return _FAILED, f"no end after {10 * patience} s"
    return done.returncode, (done.stdout + done.stderr)[-2000:]


def try_break(what: Break) -> Trial:
    """Break a fresh copy and see who notices.

    Only failing tests count. A break after which nothing can be imported, or no test is found,
    is unfair: it would be noticed by anything, and proves nothing.
    """
    began = time.perf_counter()
    with copy_of_the_tree() as copy:
        try:
            what.apply(copy)
        except (StaleBreak, FileNotFoundError) as stale:
            return Trial(what, Verdict.STALE, 0.0, str(stale))
        code, words = run_tests(copy, what.tests, _PATIENCE)
    verdict = {0: Verdict.SURVIVED, _FAILED: Verdict.CAUGHT}.get(code, Verdict.UNFAIR)
    return Trial(what, verdict, time.perf_counter() - began, words)


def healthy(breaks: Iterable[Break]) -> str | None:
    """None if every named test passes on an unbroken copy; otherwise what it said."""
    with copy_of_the_tree() as copy:
        tests = sorted({test for each in breaks for test in each.tests})
        code, words = run_tests(copy, tests, _MUCH_PATIENCE)
    return None if code == 0 else words


def try_all(breaks: Iterable[Break]) -> Iterator[Trial]:
    """All trials, two at a time, as they come."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        yield from pool.map(try_break, breaks)
