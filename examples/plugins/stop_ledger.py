"""A plugin that keeps a ledger of stopped runs, and a hand on the terminal.

It shows three of the four things that a plugin can add: hooks (one that observes, one that may
object), a tool for the model and a command for people. Enable it with

    [plugins]
    enabled = ["stop_ledger:register"]
    settings = { stop_ledger = { file = "stops.txt", forbidden = ["rm -rf"] } }
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_actors.hooks import PluginContext


def register(ctx: PluginContext) -> None:
    """Called once, before anything starts. What it raises keeps the gateway from starting."""
    ledger = Path(ctx.settings.get("file", "stops.txt"))
    forbidden = ctx.settings.get("forbidden", [])

    # A plain function: it runs in a thread, so it may write to a file.
    @ctx.hook("agent_loop_stopped")
    def note(session_key: str, cause: str, remote_calls: list[dict[str, str]]) -> None:
        with ledger.open("a") as file:
            file.write(f"{session_key} {cause}, {len(remote_calls)} remote calls cancelled\n")

    # A policy: if it raised or took too long, the tool would not run either.
    @ctx.hook("pre_tool_call")
    async def guard(tool_name: str, args: dict[str, Any]) -> dict[str, str] | None:
        words = [word for word in forbidden if word in str(args.get("command", ""))]
        if tool_name != "terminal" or not words:
            return None
        return {"action": "block", "message": f"'{words[0]}' is not allowed here"}

    @ctx.tool("count_stops", description="How often runs have been stopped.", idempotent=True)
    def count_stops(arguments: dict[str, Any]) -> str:
        return str(len(_lines(ledger)))

    @ctx.command("stops", description="Show the last stopped runs.", args_hint="[HOW MANY]")
    def stops(raw_args: str) -> str:
        how_many = int(raw_args) if raw_args.strip().isdigit() else 5
        return "\n".join(_lines(ledger)[-how_many:]) or "Nothing was ever stopped."


def _lines(ledger: Path) -> list[str]:
    return ledger.read_text().splitlines() if ledger.exists() else []
