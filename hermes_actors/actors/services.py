"""What the surfaces of a gateway work with."""

from __future__ import annotations

import msgspec

from hermes_actors.actors.house import House
from hermes_actors.actors.router import Router
from hermes_actors.actors.session import Wake
from hermes_actors.runtime import Registry


class Services(msgspec.Struct, frozen=True):
    """`router` takes messages in, `house.feeds` shows what happens, `sessions` can be controlled.

    `agents` are the names that a request may ask for.
    """

    house: House
    sessions: Registry[Wake]
    router: Router
    agents: tuple[str, ...] = ("main",)
