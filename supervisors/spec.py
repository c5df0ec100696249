"""The supervision tree as data: three kinds of node, each a value that can be read and printed.

`Worker` is one actor, `Branch` a fixed set of children with a strategy, `Crowd` a place for
actors that come and go. A spec builds its running counterpart; nothing happens before that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from hermes_actors.errors import ActorGone
from hermes_actors.pure.backoff import Backoff
from hermes_actors.runtime import Actor, Ended, Mailbox, Node, Ref, Spawner, System
from supervisors.policy import Limit, Restart, Strategy


class Running(Protocol):
    """What a supervisor keeps alive: a life, or another supervisor."""

    async def run(self, started: Callable[[], None] = ...) -> Ended:
        """Live; call `started` when ready; return how it ended."""

    def stop(self, reason: str) -> None:
        """End now."""

    def drain(self, reason: str) -> None:
        """Finish what is in hand, then end."""

    def describe(self, restarts: int = ...) -> Node:
        """The subtree as it is now."""


class Worker(msgspec.Struct, frozen=True, kw_only=True):
    """One actor. `make` is called for every life; `box` outlives them all."""

    name: str
    make: Callable[[], Actor[Any]]
    box: Mailbox[Any]
    restart: Restart = Restart.PERMANENT
    drain: float = 0.0
    grace: float = 5.0
    start_within: float = 30.0
    backoff: Backoff | None = None

    @property
    def ref(self) -> Ref[Any]:
        """The address of this worker, valid before it starts and across restarts."""
        return Ref(self.name, self.box)

    @property
    def patience(self) -> float:
        """The longest that ending this child in good order may take."""
        return self.drain + self.grace + 1.0


class Door:
    """The way into a crowd. It outlives the crowd's restarts, as a mailbox outlives a life's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inside: Spawner | None = None

    def adopt(
        self, box: Mailbox[Any], make: Callable[[], Actor[Any]], ended: Callable[[Ended], None]
    ) -> None:
        """Pass a newcomer in, or refuse with `ActorGone` while nobody is there to take it."""
        if self.inside is None:
            raise ActorGone(box.name, f"'{self.name}' is not running")
        self.inside.adopt(box, make, ended)


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
    """Actors on demand. A child past its limit is abandoned, and its siblings never notice."""

    name: str
    door: Door
    each: Restart = Restart.TRANSIENT
    limit: Limit = Limit()
    restart: Restart = Restart.PERMANENT
    drain: float = 0.0
    grace: float = 5.0
    start_within: float = 30.0
    backoff: Backoff | None = None
    most: int = 100_000

    @property
    def patience(self) -> float:
        """As for a worker: the children end side by side."""
        return self.drain + self.grace + 1.0


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """Children started in order and ended in reverse."""

    name: str
    children: tuple[Worker | Crowd | Branch, ...]
    strategy: Strategy = Strategy.ONE_FOR_ONE
    limit: Limit = Limit()
    restart: Restart = Restart.PERMANENT
    backoff: Backoff | None = None

    @property
    def patience(self) -> float:
        """The children end one after the other, so their times add up."""
        return sum(child.patience for child in self.children) + 1.0


Spec = Worker | Crowd | Branch


def worker(
    name: str, make: Callable[[], Actor[Any]], *, capacity: int = 1000, **settings: Any
) -> Worker:
    """A worker with a mailbox of its own."""
    return Worker(name=name, make=make, box=Mailbox(name, capacity), **settings)


def retire(spec: Spec, system: System, reason: str) -> None:
    """Close every address below `spec` for good: who waits there is answered now."""
    match spec:
        case Worker():
            system.retire(spec.box, reason)
        case Branch():
            for child in reversed(spec.children):
                retire(child, system, reason)
