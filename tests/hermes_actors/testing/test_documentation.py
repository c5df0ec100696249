from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_actors.testing import INVARIANTS

PAGE = Path(__file__).parents[3] / "docs" / "testing.md"
BLOCK = re.compile(r"^```(?:python|ini)\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EXAMPLE = PAGE.parents[1] / "examples" / "testing"


def run_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100)


@pytest.mark.slow
def test_every_example_on_the_page_runs(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) == len(re.findall(r"(?m)^```\w+$", PAGE.read_text()))
    assert len({name for name, _ in blocks}) == len(blocks)
    for name, source in blocks:
        (tmp_path / name).write_text(source)
    done = run_pytest(tmp_path)
    assert done.returncode == 0, done.stdout
    tests = sum(source.count("def test_") for _, source in blocks)
    assert f"{tests + 1} passed" in done.stdout, done.stdout  # one of them has two cases


@pytest.mark.slow
def test_the_example_passes_and_fails_as_its_readme_says(tmp_path: Path) -> None:
    folder = shutil.copytree(EXAMPLE, tmp_path / "example")
    assert run_pytest(folder).returncode == 0
    parrot = folder / "parrot.py"
    parrot.write_text(parrot.read_text().replace(", shield=True", ""))
    done = run_pytest(folder)
    assert "2 failed, 1 passed" in done.stdout
    assert re.search(r"cancelled at parrot\.py:\d+ in Parrot\._end: ", done.stdout), done.stdout


def test_the_page_says_what_every_invariant_means() -> None:
    rows = re.findall(r"(?m)^\| `?([\w-]+)`? \| [A-Z]", PAGE.read_text())
    assert rows == [invariant.id for invariant in INVARIANTS]
