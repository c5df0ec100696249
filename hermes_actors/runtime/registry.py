"""Addresses that are always valid, and actors that exist only while they are needed.

A registry knows how to make the actor of an address. The first message activates it; an idle one
unloads and costs nothing. **Exactly one activation per address** holds by construction: the dict
entry is made in the sender's step, before the task that will serve it even starts, and it is
removed in the step in which that task ends, and only if no message waits.

No message is lost while unloading, because unloading does not close the mailbox. What arrives
meanwhile stays there, and a successor (a new object, loaded afresh) is started on the same box.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import trio

from hermes_actors.errors import ActorGone, Escalation, Overloaded, Refusal, Unrecoverable
from hermes_actors.runtime.actor import Actor
from hermes_actors.runtime.crash import causes
from hermes_actors.runtime.life import Ended, How
from hermes_actors.runtime.mailbox import Mailbox
from hermes_actors.runtime.ref import Ref
from hermes_actors.runtime.system import System

M = TypeVar("M")


class Spawner(Protocol):
    """Whoever keeps activations alive: a supervisor, handed in from above."""

    def adopt(
        self, box: Mailbox[Any], make: Callable[[], Actor[Any]], ended: Callable[[Ended], None]
    ) -> None:
        """Run actors made by `make` on `box` until one ends for good; then call `ended`."""


class Registry(Generic[M]):
    """From address to `Ref`, activating on demand.

    `idle` is how long an actor may have nothing to do before it unloads; `max_live` how many may
    be in memory at once. At the limit the idlest one is unloaded first, and if none is
    idle the newcomer is refused with `Overloaded`.
    """

    def __init__(
        self,
        make: Callable[[str], Actor[M]],
        spawner: Spawner,
        system: System,
        *,
        capacity: int = 1000,
        idle: float = 900.0,
        max_live: int = 100_000,
    ) -> None:
        self._make, self._spawner, self._system = make, spawner, system
        self._capacity, self._idle, self._max_live = capacity, idle, max_live
        self._boxes: dict[str, Mailbox[M]] = {}
        self._leaving: set[str] = set()
        self._quarantined: dict[str, str] = {}

    def ref(self, address: str) -> Ref[M]:
        """The address as something to talk to. Costs nothing until the first message."""
        return _AddressRef(address, self)

    def live(self) -> list[str]:
        """The addresses that have an activation right now."""
        return list(self._boxes)

    def quarantined(self) -> dict[str, str]:
        """The addresses that crashed too often, with the reason."""
        return dict(self._quarantined)

    def release(self, address: str) -> bool:
        """Let a quarantined address be activated again."""
        return self._quarantined.pop(address, None) is not None

    async def unload_idle(self) -> None:
        """Unload what has been idle for long enough, for ever. Run it as a task of its owner."""
        while True:
            await trio.sleep(max(self._idle / 8, 0.001))
            self.unload_since(trio.current_time() - self._idle)

    def unload_since(self, moment: float) -> int:
        """Ask every actor that has been idle since `moment` to unload; how many did."""
        return sum(
            self._unload(box)
            for box in tuple(self._boxes.values())
            if box.life is not None and box.life.idle_since <= moment
        )

    # ---------------------------------------------------------------------------------------

    def peek(self, address: str) -> Mailbox[M] | None:
        """The box of a live activation; never activates."""
        return self._boxes.get(address)

    def open(self, address: str) -> Mailbox[M]:
        """The box of this address, activating it if need be."""
        box = self._boxes.get(address)
        return box if box is not None else self._activate(address)

    def _activate(self, address: str) -> Mailbox[M]:
        if address in self._quarantined:
            raise ActorGone(address, f"quarantined: {self._quarantined[address]}")
        if not self._has_room() and not self._make_room():
            raise Overloaded(f"'{address}' cannot be activated: {self._max_live} are live and busy")
        box = Mailbox[M](address, self._capacity)
        self._start(address, box)  # may refuse, and then there is no activation
        self._boxes[address] = box
        self._system.journal.note("mailbox.opened", actor=address, capacity=self._capacity)
        return box

    def _start(self, address: str, box: Mailbox[M]) -> None:
        activation = _Activation(self, box)
        self._spawner.adopt(box, activation.born, activation.ended)
        self._system.journal.note("activation.started", address=address)

    def born(self, address: str) -> Actor[M]:
        """A new object for this address, which knows its own way back."""
        self._leaving.discard(address)  # one that failed to leave is here again
        actor = self._make(address)
        actor.ref = self.ref(address)  # valid also after this activation is gone
        return actor

    def ended(self, address: str, box: Mailbox[M], ended: Ended) -> None:
        """Nobody lives on this box any more; a successor does from now on, if work waits."""
        self._system.journal.note("activation.ended", address=address, how=ended.how.value)
        self._leaving.discard(address)
        reason = ended.reason
        if ended.how is How.UNLOADED and len(box):
            refused = self._succeed(address, box)
            if refused is None:
                return
            reason = refused
        del self._boxes[address]
        if ended.error is not None and _is_final(ended.error):
            self._quarantined[address] = ended.reason
        self._system.retire(box, reason)

    def _succeed(self, address: str, box: Mailbox[M]) -> str | None:
        """Start a successor on the same box; the reason, if the house takes nobody any more."""
        try:
            self._start(address, box)
        except Refusal as no:
            return str(no)
        return None

    def _has_room(self) -> bool:
        return len(self._boxes) - len(self._leaving) < self._max_live

    def _make_room(self) -> bool:
        """Unload the idlest. Until it has ended, it is in memory beside the newcomer."""
        boxes = [box for box in self._boxes.values() if box.life is not None]
        return any(map(self._unload, sorted(boxes, key=lambda box: box.idle_since)))

    def _unload(self, box: Mailbox[M]) -> bool:
        leaves = box.life is not None and box.life.unload()
        if leaves:
            self._leaving.add(box.name)
        return leaves


def _is_final(error: Exception) -> bool:
    """Its supervisor gave up on it, or no restart could have helped."""
    return any(isinstance(cause, Escalation | Unrecoverable) for cause in causes(error))


class _Activation(Generic[M]):
    """What a spawner is handed. There is one for every live address, so it is kept small."""

    __slots__ = ("_box", "_registry")

    def __init__(self, registry: Registry[M], box: Mailbox[M]) -> None:
        self._registry, self._box = registry, box

    def born(self) -> Actor[M]:
        return self._registry.born(self._box.name)

    def ended(self, ended: Ended) -> None:
        self._registry.ended(self._box.name, self._box, ended)


class _AddressRef(Ref[M]):
    """A `Ref` that activates its address when work is sent, and never for control."""

    __slots__ = ("_registry",)

    def __init__(self, address: str, registry: Registry[M]) -> None:
        super().__init__(address, None)
        self._registry = registry

    def _open(self) -> Mailbox[M]:
        return self._registry.open(self.name)

    def _peek(self) -> Mailbox[M] | None:
        return self._registry.peek(self.name)

    def _place(self) -> tuple[str, int]:
        return self.name, id(self._registry)
