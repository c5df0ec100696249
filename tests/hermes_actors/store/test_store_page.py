"""docs/store.md runs as it is printed, and knows every kind of refusal and every module."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import hermes_actors.store
from hermes_actors.store import faults
from hermes_actors.store.__main__ import USAGE
from tests.hermes_actors.store.children import ROOT

PAGE = (ROOT / "docs/store.md").read_text()
MACHINERY = {
    *("actor", "connection", "faults", "grip", "migrations", "operation", "query_text", "readers"),
    *("sql", "states", "store", "worker", "writer", "backup", "rescue"),
}


def test_the_example_says_what_the_page_says(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    program = tmp_path / "example.py"
    program.write_text(example)
    done = subprocess.run(
        [sys.executable, str(program)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True False\n['chat:42']\n", "")


def test_every_kind_of_fault_has_its_line() -> None:
    for kind in faults.KINDS:
        assert f"| `{kind}` |" in PAGE


def test_every_module_of_operations_is_listed() -> None:
    folder = Path(hermes_actors.store.__file__).parent
    modules = {each.stem for each in folder.glob("*.py") if not each.stem.startswith("_")}
    assert [each for each in sorted(modules - MACHINERY) if f"`{each}`" not in PAGE] == []


def test_the_commands_exist() -> None:
    for command in re.findall(r"-m hermes_actors\.store (\w+)", PAGE):
        assert f"hermes_actors.store {command} FILE" in USAGE
