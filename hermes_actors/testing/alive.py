"""One actor, or a whole tree of them, alive for the length of a `with` block."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, Protocol, TypeVar

import trio

from hermes_actors.errors import ActorGone
from hermes_actors.journal import Journal
from hermes_actors.runtime import Actor, Ended, Life, Mailbox, Ref, System
from hermes_actors.runtime.crash import simplest

M = TypeVar("M")
END_OF_BLOCK = "end of the block"


class Runs(Protocol):
    """What can be alive: a `Life`, or a supervisor with everything below it."""

    async def run(self, started: Callable[[], None] = ...) -> Ended:
        """Live; call `started` when ready; return how it ended."""

    def stop(self, reason: str) -> None:
        """End now."""


class Running:
    """Something alive in the background. `ended` is None until it is over."""

    def __init__(self, what: Runs) -> None:
        self._what = what
        self.ready, self.over = trio.Event(), trio.Event()
        self.ended: Ended | None = None

    async def run(self) -> None:
        """Live. Whoever waits to see it ready is woken as well if it ends before that."""
        try:
            self.ended = await self._what.run(self.ready.set)
        finally:
            self.ready.set()
            self.over.set()

    def stop(self, reason: str) -> None:
        """End it now."""
        self._what.stop(reason)

    @property
    def crash(self) -> Exception | None:
        """The error in which it ended; None while it lives, and for every other end."""
        return None if self.ended is None else self.ended.error


class Alive(Running, Generic[M]):
    """One actor: the address to talk to it, and the system that its letters go to."""

    def __init__(self, actor: Actor[M], box: Mailbox[M], system: System, grace: float) -> None:
        super().__init__(Life(actor, box, system.journal, grace=grace))
        self.ref: Ref[M] = Ref(box.name, box)
        self.system = system
        self._box = box

    async def run(self) -> None:
        """Live, and close the mailbox after: nobody waits for a life that is over."""
        try:
            await super().run()
        finally:
            self.system.retire(self._box, "cut" if self.ended is None else self.ended.reason)


@asynccontextmanager
async def living(
    actor: Actor[M],
    name: str = "actor",
    *,
    journal: Journal | None = None,
    capacity: int = 1000,
    grace: float = 5.0,
    may_crash: bool = False,
) -> AsyncIterator[Alive[M]]:
    """Run one life of `actor`; it is ready when the block begins, and stopped when it ends.

    An actor that crashes fails the block with its own error, also if nobody asked it for
    anything. `may_crash=True` is for tests of the crash: look at `alive.crash` then. Nothing
    restarts it here; for that, run a supervisor in `running`.
    """
    system = System(journal)
    box = Mailbox[M](name, capacity)
    system.journal.note("mailbox.opened", actor=name, capacity=capacity)
    async with _in_background(Alive(actor, box, system, grace), may_crash) as alive:
        yield alive


@asynccontextmanager
async def running(what: Runs, *, may_crash: bool = False) -> AsyncIterator[Running]:
    """The same for anything that runs, such as `Supervisor(branch, System(journal))`."""
    async with _in_background(Running(what), may_crash) as background:
        yield background


R = TypeVar("R", bound=Running)


@asynccontextmanager
async def _in_background(background: R, may_crash: bool) -> AsyncIterator[R]:
    failure: Exception | None = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(background.run)
            await background.ready.wait()
            yield background
            background.stop(END_OF_BLOCK)
    except ExceptionGroup as group:
        failure = simplest(group)  # a failed assertion should look like one
    crash = None if may_crash else background.crash
    if crash is not None and (failure is None or isinstance(failure, ActorGone)):
        raise crash  # the refusal was only its consequence
    if failure is not None:
        raise failure
