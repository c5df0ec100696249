"""The live tree: who is alive, doing what, for how long. Data first, text second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import trio

if TYPE_CHECKING:
    from hermes_actors.runtime.mailbox import Mailbox


class Node(msgspec.Struct, frozen=True, omit_defaults=True):
    """One actor or supervisor, with everything below it."""

    name: str
    kind: str
    state: str
    age: float = 0.0
    depth: int = 0
    oldest: float = 0.0
    restarts: int = 0
    children: tuple[Node, ...] = ()


def waiting(box: Mailbox[Any]) -> dict[str, Any]:
    """How much work waits in a mailbox, and since how many seconds."""
    oldest = box.oldest
    return {
        "depth": len(box),
        "oldest": 0.0 if oldest is None else trio.current_time() - oldest,
    }


def render(root: Node) -> str:
    """The tree as text, one line each."""
    return "\n".join(_lines(root, "", ""))


def _lines(node: Node, head: str, tail: str) -> Iterator[str]:
    yield f"{head}{node.name}  {_facts(node)}"
    for child in node.children[:-1]:
        yield from _lines(child, f"{tail}├─ ", f"{tail}│  ")
    if node.children:
        yield from _lines(node.children[-1], f"{tail}└─ ", f"{tail}   ")


def _facts(node: Node) -> str:
    facts = [node.kind, node.state, f"{node.age:.0f}s"]
    if node.depth:
        facts.append(f"{node.depth} waiting, oldest {node.oldest:.1f}s")
    if node.restarts:
        facts.append(f"restarts {node.restarts}")
    return " · ".join(facts)
