"""The pages about hooks and plugins say what is true, and their examples run."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hermes_actors.hooks import EVENTS, Catalogue
from hermes_actors.hooks.reference import BEGIN, END, renewed, table

from .doubles import REPLY, STOPPED, World

ROOT = Path(__file__).parents[3]
HOOKS = (ROOT / "docs/hooks.md").read_text()
PLUGINS = (ROOT / "docs/plugins.md").read_text()


def example(page: str, number: int = 0) -> dict[str, Any]:
    """What a block of Python on a page defines."""
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(blocks[number], names)
    return names


def test_the_table_in_the_page_is_the_one_that_the_structs_give() -> None:
    assert renewed(HOOKS) == HOOKS  # if not: python -m hermes_actors.hooks.reference docs/hooks.md


def test_the_table_has_one_row_per_hook_with_every_argument() -> None:
    rows = table().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == list(EVENTS)
    for row, event in zip(rows, EVENTS.values(), strict=True):
        assert row.count(" | ") == 4
        assert all(f"`{field}`" in row for field in event.__struct_fields__)


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    assert renewed(f"a {BEGIN} old {END} b") == f"a {BEGIN}\n\n{table()}\n\n{END} b"
    with pytest.raises(ValueError, match="the page needs the lines"):
        renewed("nothing")


def test_every_hook_that_a_page_names_exists() -> None:
    # The section about differences names hooks that exist elsewhere only.
    text = PLUGINS + HOOKS.partition("## Coming from")[0]
    named = set(re.findall(r"\b(?:pre|post|on|agent_loop|transform)_[a-z_]+\b", text))
    assert named - set(EVENTS) - {"on_stop"} == set()


async def test_the_handler_in_the_page_about_hooks_works(
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = World()
    world.on("agent_loop_stopped", example(HOOKS)["on_stop"])
    await world.bus.fire(STOPPED)
    assert capsys.readouterr().out == "agent:main:chat:1 was stopped: user_stop []\n"


async def test_the_plugin_in_the_page_about_plugins_works() -> None:
    world = World()
    catalogue = Catalogue(world.bus)
    catalogue.install("polite", example(PLUGINS)["register"])
    assert await world.bus.transform(REPLY) == "hello\n\nHave a nice day."
    assert catalogue.commands["greet"].handler("Ada") == "Hello, Ada!"


def test_the_test_of_that_plugin_passes() -> None:
    polite = ModuleType("polite")
    vars(polite).update(example(PLUGINS))
    sys.modules["polite"] = polite
    try:
        example(PLUGINS, 1)["test_the_command_greets"]()
    finally:
        del sys.modules["polite"]
