"""The plugin in `examples/plugins` loads as a user would load it, and does what it says."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hermes_actors.hooks import Catalogue, load_plugins
from hermes_actors.hooks.events import CancelledCall

from .doubles import STOPPED, TOOL, World

FOLDER = Path(__file__).parents[3] / "examples" / "plugins"


class Example:
    """The plugin, loaded with settings of its own."""

    def __init__(self, folder: Path) -> None:
        self.world = World()
        self.catalogue = Catalogue(self.world.bus)
        self.ledger = folder / "stops.txt"
        settings = {"stop_ledger": {"file": str(self.ledger), "forbidden": ["rm -rf"]}}
        load_plugins(["stop_ledger:register"], self.catalogue, self.world.journal, settings)

    def stops(self, raw_args: str = "") -> object:
        return self.catalogue.commands["stops"].handler(raw_args)

    def count(self) -> object:
        return self.catalogue.tools["count_stops"].handler({})


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Example]:
    sys.path.insert(0, str(FOLDER))
    yield Example(tmp_path)
    sys.path.remove(str(FOLDER))
    del sys.modules["stop_ledger"]


async def test_it_keeps_a_ledger_that_the_command_and_the_tool_can_read(example: Example) -> None:
    assert (example.stops(), example.count()) == ("Nothing was ever stopped.", "0")
    call = CancelledCall("tc_1", "open_door")
    await example.world.bus.fire(STOPPED)
    await example.world.bus.fire(msgspec.structs.replace(STOPPED, remote_calls=(call,)))
    assert example.count() == "2"
    assert example.stops("1") == "agent:main:chat:1 user_stop, 1 remote calls cancelled"
    assert example.world.kinds() == ["plugin.loaded"]


@pytest.mark.parametrize(
    ("tool", "command", "action"),
    [
        ("terminal", "ls -l", "allow"),
        ("terminal", "sudo rm -rf /", "block"),
        ("write_file", "rm -rf", "allow"),
    ],
)
async def test_it_keeps_forbidden_words_out_of_the_terminal(
    example: Example, tool: str, command: str, action: str
) -> None:
    event = msgspec.structs.replace(TOOL, tool_name=tool, args={"command": command})
    decision = await example.world.bus.decide(event)
    assert (decision.action, decision.failed_closed) == (action, False)
