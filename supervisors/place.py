"""Where a child lives: its place in the tree, and the news that comes from there."""

from __future__ import annotations

import msgspec
import trio

from hermes_actors.runtime import Ended
from supervisors.spec import Running, Spec


class Place:
    """A child's place in the tree: its spec, and whoever holds the place at the moment."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.running: Running | None = None
        self.lives = 0
        self.attempt = 0
        self.ending = self.retired = False
        self.settled, self.over = trio.Event(), trio.Event()
        self.over.set()


class Exit(msgspec.Struct, frozen=True):
    """A child ended, and nobody had asked it to."""

    place: Place
    life: int
    ended: Ended


class Due(msgspec.Struct, frozen=True):
    """Children to start, in this order, at this moment."""

    at: float
    names: list[str]
