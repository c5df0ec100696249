"""What is pure stays pure: no waiting, no clock, no files, no dice, no other part of the house."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hermes_actors.pure

HOME = Path(hermes_actors.pure.__file__).parent
FILES = sorted(HOME.rglob("*.py"))
MACHINE = ("io", "logging", "os", "pathlib", "sqlite3", "subprocess", "sys", "tempfile", "time")
OTHERS = ("asyncio", "multiprocessing", "select", "signal", "socket", "threading")
DICE = ("random", "secrets", "uuid")
LOOKS_OR_WAITS = frozenset((*MACHINE, *OTHERS, *DICE))
OURS = ("msgspec", "hermes_actors.pure", "hermes_actors.values")


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield node.module or ""


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(HOME)))
def test_a_pure_file_imports_only_what_cannot_wait_or_look(file: Path) -> None:
    for name in imports(file):
        top = name.partition(".")[0]
        assert name.startswith(OURS) or top in sys.stdlib_module_names - LOOKS_OR_WAITS, name


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(HOME)))
def test_nothing_pure_is_async(file: Path) -> None:
    kinds = (ast.AsyncFunctionDef, ast.Await, ast.AsyncWith, ast.AsyncFor)
    assert not any(isinstance(node, kinds) for node in ast.walk(ast.parse(file.read_text("utf-8"))))
