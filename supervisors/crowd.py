"""Actors that come and go: sessions, connections, calls.

A crowd has no order and no strategy. Each child has its own restart budget; one that uses it up is
abandoned, told to whoever sent it here, and touches nobody else.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextvars import Context
from typing import Any

import trio

from hermes_actors.errors import ActorGone, Overloaded
from hermes_actors.runtime import Actor, Ended, How, Life, Mailbox, Node, System
from supervisors.policy import RestartBudget, hopeless, wants_restart
from supervisors.spec import Crowd

Make = Callable[[], Actor[Any]]


class CrowdSupervisor:
    """Runs a `Crowd`. `adopt` is a plain call, so an activation begins in its sender's step."""

    def __init__(
        self, spec: Crowd, system: System, *, dice: Callable[[], float] = random.random
    ) -> None:
        self._spec, self._system, self._dice = spec, system, dice
        self._lives: dict[Mailbox[Any], Life[Any] | None] = {}
        self._nursery: trio.Nursery | None = None
        self._down = trio.Event()
        self._reason: str | None = None
        self._began = trio.current_time()

    async def run(self, started: Callable[[], None] = lambda: None) -> Ended:
        """Keep whoever is adopted alive, until told to end."""
        try:
            async with trio.open_nursery() as self._nursery:
                self._spec.door.inside = self
                started()
                await self._down.wait()
        finally:
            self._nursery = self._spec.door.inside = None
        return Ended(How.STOPPED, self._reason or "stopped")

    def adopt(self, box: Mailbox[Any], make: Make, ended: Callable[[Ended], None]) -> None:
        """Run actors made by `make` on `box`; `ended` is called once, when no life will follow."""
        if self._nursery is None or self._reason is not None:
            raise ActorGone(box.name, self._reason or f"'{self._spec.name}' is not running")
        if len(self._lives) >= self._spec.most:
            raise Overloaded(
                f"'{self._spec.name}' has {self._spec.most} actors, which is its limit"
            )
        self._lives[box] = None
        Context().run(self._nursery.start_soon, self._keep, box, make, ended)

    def stop(self, reason: str) -> None:
        """Cut everyone."""
        self._reason = self._reason or reason
        for life in tuple(self._lives.values()):
            if life is not None:
                life.stop(reason)
        if self._nursery is not None:
            # Those that wait for a restart, or are just being born, have no life to stop.
            self._nursery.cancel_scope.cancel(reason)
        self._down.set()

    def drain(self, reason: str) -> None:
        """Take nobody new; let everyone finish."""
        self._reason = self._reason or reason
        for life in tuple(self._lives.values()):
            if life is not None:
                life.drain(reason)
        self._down.set()

    def describe(self, restarts: int = 0) -> Node:
        """The crowd and everyone in it."""
        return Node(
            name=self._spec.name,
            kind="crowd",
            state="running" if self._reason is None else "stopping",
            age=trio.current_time() - self._began,
            restarts=restarts,
            children=tuple(life.describe() for life in self._lives.values() if life is not None),
        )

    # ---------------------------------------------------------------------------------------

    async def _keep(self, box: Mailbox[Any], make: Make, ended: Callable[[Ended], None]) -> None:
        last = Ended(How.CANCELLED, self._reason or "cut")
        try:
            last = await self._live_and_restart(box, make)
        finally:
            del self._lives[box]
            ended(last)

    async def _live_and_restart(self, box: Mailbox[Any], make: Make) -> Ended:
        budget, attempt = RestartBudget(self._spec.limit), 0
        while True:
            ended = await self._live(box, make)
            if not self._comes_back(ended, budget):
                return ended
            attempt = 0 if ended.thrived else attempt
            self._system.journal.note("actor.restarted", actor=box.name, together=[box.name])
            await self._pause(attempt)
            if self._reason is not None:
                return ended
            attempt += 1

    async def _pause(self, attempt: int) -> None:
        """Back off, or go on at once when the crowd is told to end."""
        backoff = self._spec.backoff
        if backoff is not None:
            with trio.move_on_after(backoff.delay(attempt, self._dice)):
                await self._down.wait()

    async def _live(self, box: Mailbox[Any], make: Make) -> Ended:
        try:
            life = self._lives[box] = Life(
                make(),
                box,
                self._system.journal,
                grace=self._spec.grace,
                start_within=self._spec.start_within,
            )
        except Exception as crash:  # noqa: BLE001  a supervisor is where crashes are read
            return Ended(How.CRASHED, f"could not be made: {crash!r}", crash)
        if self._reason is not None:
            life.drain(self._reason)
        try:
            return await life.run()
        finally:
            self._lives[box] = None

    def _comes_back(self, ended: Ended, budget: RestartBudget) -> bool:
        if self._reason is not None or ended.how is How.UNLOADED:
            return False
        if hopeless(ended.error) is not None or not wants_restart(self._spec.each, ended):
            return False
        return budget.spend(trio.current_time(), ended.error)
