from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import hermes_actors.testing as kit


@pytest.mark.parametrize("name", dir(kit))
def test_every_public_name_is_there_and_is_no_module(name: str) -> None:
    # A name that is also the name of a file would be replaced by that file's module.
    getattr(kit, name)
    assert not isinstance(getattr(kit, name), ModuleType)


def test_the_fixtures_bring_nothing_along_until_one_is_used() -> None:
    # Every pytest in this environment imports them, in projects that know nothing of us.
    program = (
        "import sys, pytest; before = set(sys.modules)\n"
        "import hermes_actors.testing.fixtures\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [
        "hermes_actors",
        "hermes_actors.testing",
        "hermes_actors.testing.fixtures",
    ]
