"""docs/actors.md runs as it is printed, and every test that it names exists."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "actors.md").read_text()
HOMES = ("tests/hermes_actors/runtime", "tests/supervisors")


def test_the_example_prints_what_the_page_says(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=ROOT,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "3",
        "root  one_for_one · running · 0s",
        "└─ counter  Counter · idle · 0s",
        "counted to 3",
    ]


def test_every_test_that_the_page_names_exists() -> None:
    named = re.findall(r"`((?:tests/)?[\w/]+\.py)::(test_\w+)`", PAGE)
    assert len(named) > 20
    for file, test in named:
        homes = [ROOT / file, *(ROOT / home / file for home in HOMES)]
        texts = [path.read_text() for path in homes if path.exists()]
        assert any(f"def {test}(" in text for text in texts), f"{file}::{test}"
