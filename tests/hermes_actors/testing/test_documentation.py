from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_actors.testing import INVARIANTS

PAGE = Path(__file__).parents[3] / "docs" / "testing.md"
BLOCK = re.compile(r"^```(?:python|ini)\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_every_example_on_the_page_runs(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) == len(re.findall(r"(?m)^```\w+$", PAGE.read_text()))
    assert len({name for name, _ in blocks}) == len(blocks)
    for name, source in blocks:
        (tmp_path / name).write_text(source)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout
    tests = sum(source.count("def test_") for _, source in blocks)
    assert f"{tests + 1} passed" in done.stdout, done.stdout  # one of them has two cases


def test_the_page_says_what_every_invariant_means() -> None:
    rows = re.findall(r"(?m)^\| `?([\w-]+)`? \| [A-Z]", PAGE.read_text())
    assert rows == [invariant.id for invariant in INVARIANTS]
