"""The page about commands says what the table says."""

from __future__ import annotations

from pathlib import Path

from hermes_actors.pure.command_list import COMMANDS
from hermes_actors.pure.commands import CommandSpec

PAGE = Path(__file__).parents[3] / "docs" / "commands.md"


def row(spec: CommandSpec) -> str:
    form = f"/{spec.name} {spec.usage}".rstrip().replace("|", "\\|")
    aliases = ", ".join(f"`/{alias}`" for alias in spec.aliases)
    return f"| `{form}` | {aliases} | {spec.while_busy} | {spec.while_idle} |"


def test_every_command_has_its_row_and_there_are_no_others() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `/")]
    assert rows == [row(spec) for spec in COMMANDS]
