"""What `ps` and `status` print."""

from __future__ import annotations

from typing import Any

import msgspec

from adapters.cli.gateway_client import get
from hermes_actors.runtime.tree import Node, render


def ps(url: str, key: str, *, as_json: bool = False) -> str:
    """The live actor tree, as text for people or as JSON for programs."""
    body = get(url, "/api/tree", key)
    return body.decode() if as_json else render(msgspec.json.decode(body, type=Node))


def status(url: str, key: str, *, pid: int) -> str:
    """One line for the gateway, one for each adapter."""
    health: dict[str, Any] = msgspec.json.decode(get(url, "/health", key))
    tree = msgspec.json.decode(get(url, "/api/tree", key), type=Node)
    head = (
        f"gateway {health['version']} is {health['status']} at {url}, "
        f"process {pid}, up {health['uptime']:.0f} s"
    )
    return "\n".join([head, *map(_line, _adapters(tree))])


def _adapters(tree: Node) -> tuple[Node, ...]:
    return next((child.children for child in tree.children if child.name == "adapters"), ())


def _line(adapter: Node) -> str:
    restarts = f", restarted {adapter.restarts} times" if adapter.restarts else ""
    return f"  {adapter.name}: {adapter.state} for {adapter.age:.0f} s{restarts}"
