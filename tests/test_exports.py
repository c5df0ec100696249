"""What the packages offer by name is really there, and offering it costs nothing."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest


def offered(module: str) -> list[str]:
    """The names in the `TYPE_CHECKING` block, which is what type checkers believe."""
    file = importlib.import_module(module).__file__
    assert file is not None
    tree = ast.parse(Path(file).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return sorted(alias.asname or alias.name for node in imports for alias in node.names)


@pytest.mark.parametrize("module", ["hermes_actors", "hermes_actors.testing"])
def test_every_offered_name_exists_and_every_existing_one_is_offered(module: str) -> None:
    package = importlib.import_module(module)
    assert dir(package) == offered(module)
    for name in dir(package):
        assert getattr(package, name) is not None


@pytest.mark.parametrize("module", ["hermes_actors", "hermes_actors.testing"])
def test_a_name_that_does_not_exist_is_an_attribute_error(module: str) -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        importlib.import_module(module).nothing  # noqa: B018


def test_importing_the_package_or_the_command_imports_nothing_heavy() -> None:
    check = (
        "import sys, hermes_actors, supervisors.main; supervisors.main._parser(); "
        "print(sorted({'trio', 'httpx', 'anycorn', 'starlette', 'structlog'} & set(sys.modules)))"
    )
    said = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    ).stdout
    assert said == "[]\n"
