"""Actors that come and go: sessions, connections, calls.

A crowd has no order and no strategy. Each child has its own restart budget; one that uses it up is
abandoned and touches nobody else. Whoever sent it here is told with an `Escalation` that holds
every cause, which is how "crashed too often" differs from "crashed while we were closing".
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextvars import Context
from typing import Any

import trio

from hermes_actors.errors import ActorGone, Escalation, Overloaded
from hermes_actors.runtime import Actor, Ended, How, Life, Mailbox, Node, System
from hermes_actors.runtime.crash import in_words
from supervisors.policy import Limit, RestartBudget, hopeless, wants_restart
from supervisors.spec import Crowd

Make = Callable[[], Actor[Any]]


class Member:
    """One adopted child: its box, its present life, and what its past lives cost."""

    __slots__ = ("attempt", "box", "budget", "life", "make", "restarts")

    def __init__(self, box: Mailbox[Any], make: Make, limit: Limit) -> None:
        self.box, self.make = box, make
        self.life: Life[Any] | None = None
        self.budget = RestartBudget(limit)
        self.restarts = self.attempt = 0

    def describe(self) -> Node:
        """As a line of `ps`, also between two lives."""
        if self.life is not None:
            return self.life.describe(restarts=self.restarts)
        return Node(name=self.box.name, kind="Worker", state="down", restarts=self.restarts)


class CrowdSupervisor:
    """Runs a `Crowd`. `adopt` is a plain call, so an activation begins in its sender's step."""

    def __init__(
        self, spec: Crowd, system: System, *, dice: Callable[[], float] = random.random
    ) -> None:
        self._spec, self._system, self._dice = spec, system, dice
        self._members: dict[Mailbox[Any], Member] = {}
        self._nursery: trio.Nursery | None = None
        self._down = trio.Event()
        self._reason: str | None = None
        self._thrived = self._cut = False
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
        return Ended(How.STOPPED, self._reason or "stopped", thrived=self._thrived)

    def adopt(self, box: Mailbox[Any], make: Make, ended: Callable[[Ended], None]) -> None:
        """Run actors made by `make` on `box`; `ended` is called once, when no life will follow."""
        if self._nursery is None or not self._takes(box):
            raise ActorGone(box.name, self._reason or f"'{self._spec.name}' is not running")
        if len(self._members) >= self._spec.most:
            raise Overloaded(
                f"'{self._spec.name}' has {self._spec.most} actors, which is its limit"
            )
        if box in self._members:
            raise ValueError(f"'{box.name}' is already alive in '{self._spec.name}'")
        member = self._members[box] = Member(box, make, self._spec.limit)
        Context().run(self._nursery.start_soon, self._keep, member, ended)

    def _takes(self, box: Mailbox[Any]) -> bool:
        """Newcomers only while open; what was accepted before is still done while closing."""
        return self._reason is None or (len(box) > 0 and not self._cut)

    def stop(self, reason: str) -> None:
        """Cut everyone."""
        self._reason, self._cut = self._reason or reason, True
        for member in tuple(self._members.values()):
            if member.life is not None:
                member.life.stop(reason)
        if self._nursery is not None:
            # Those that wait for a restart, or are just being born, have no life to stop.
            self._nursery.cancel_scope.cancel(reason)
        self._down.set()

    def drain(self, reason: str) -> None:
        """Take nobody new; let everyone finish."""
        self._reason = self._reason or reason
        for member in tuple(self._members.values()):
            if member.life is not None:
                member.life.drain(reason)
        self._down.set()

    def describe(self, restarts: int = 0) -> Node:
        """The crowd and everyone in it."""
        return Node(
            name=self._spec.name,
            kind="crowd",
            state="running" if self._reason is None else "stopping",
            age=trio.current_time() - self._began,
            restarts=restarts,
            children=tuple(member.describe() for member in self._members.values()),
        )

    # ---------------------------------------------------------------------------------------

    async def _keep(self, member: Member, ended: Callable[[Ended], None]) -> None:
        last: Ended | None = None
        try:
            last = await self._live_and_restart(member)
        finally:
            del self._members[member.box]
            ended(last or Ended(How.CANCELLED, self._reason or "cut"))

    async def _live_and_restart(self, member: Member) -> Ended:
        while True:
            ended = await self._live(member)
            self._thrived = self._thrived or ended.thrived
            if not self._comes_back(ended):
                return ended
            if not member.budget.spend(trio.current_time(), ended.error):
                return self._abandon(member)
            await self._pause(member, ended)
            if self._reason is not None:
                return ended
            member.restarts += 1
            self._system.journal.note(
                "actor.restarted", actor=member.box.name, together=[member.box.name]
            )

    def _abandon(self, member: Member) -> Ended:
        failure = Escalation(self._spec.name, member.box.name, member.budget.causes())
        self._system.journal.note(
            "child.abandoned",
            supervisor=self._spec.name,
            child=member.box.name,
            causes=[in_words(cause) for cause in failure.causes],
        )
        return Ended(How.CRASHED, str(failure), failure)

    async def _pause(self, member: Member, ended: Ended) -> None:
        """Back off, or go on at once when the crowd is told to end."""
        backoff = self._spec.backoff
        if backoff is None:
            return
        member.attempt = 0 if ended.thrived else member.attempt
        with trio.move_on_after(backoff.delay(member.attempt, self._dice)):
            await self._down.wait()
        member.attempt += 1

    async def _live(self, member: Member) -> Ended:
        if self._reason is not None and not len(member.box):
            return Ended(How.STOPPED, self._reason)  # told to end before it began
        try:
            member.life = Life(
                member.make(),
                member.box,
                self._system.journal,
                grace=self._spec.grace,
                start_within=self._spec.start_within,
            )
        except Exception as crash:  # noqa: BLE001  a supervisor is where crashes are read
            return Ended(How.CRASHED, f"could not be made: {in_words(crash)}", crash)
        if self._reason is not None:
            member.life.drain(self._reason)
        try:
            return await member.life.run()
        finally:
            member.life = None

    def _comes_back(self, ended: Ended) -> bool:
        if self._reason is not None or ended.how is How.UNLOADED:
            return False
        return hopeless(ended.error) is None and wants_restart(self._spec.each, ended)
