"""Starts children in order, ends them in reverse, and restarts them by policy.

The supervisor is one loop over two kinds of news: a child has ended, or a restart is due. All
decisions come from `policy`; this file only waits and acts. Escalation is a value: when the
limit is used up the supervisor ends its children and itself ends as `CRASHED` with one typed
`Escalation`, which the supervisor above reads like any other crash.

Three ways down, one order. `drain`, `stop` and cancelling the task around `run` (which is what the
second Ctrl-C does) all end the children one by one, last started first, each under its deadline.
That holds for a cancellation too because the children live in the shelter of a shield: if it hit
everyone in one moment, the store would be gone before the last conversation is sealed.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context

import trio

from hermes_actors.errors import Escalation
from hermes_actors.runtime import Ended, How, Life, Node, System
from hermes_actors.runtime.crash import in_words
from supervisors.crowd import CrowdSupervisor
from supervisors.place import Due, Exit, Place
from supervisors.policy import (
    Restart,
    RestartBudget,
    Strategy,
    affected,
    every_cause,
    hopeless,
    wants_restart,
)
from supervisors.shelter import Shelter
from supervisors.spec import Branch, Crowd, Running, Spec, Worker, retire


class Supervisor:
    """Runs a `Branch`. The same interface as a life, so supervisors nest."""

    def __init__(
        self, spec: Branch, system: System, *, dice: Callable[[], float] = random.random
    ) -> None:
        self.spec, self._system, self._dice = spec, system, dice
        self._places = {child.name: Place(child) for child in spec.children}
        if len(self._places) != len(spec.children):
            raise ValueError(f"two children of '{spec.name}' have the same name")
        self._order = list(self._places)
        self._budget = RestartBudget(spec.limit)
        self._exits: deque[Exit] = deque()
        self._due: list[Due] = []
        self._bell = trio.Event()
        self._birth = self._patience = trio.CancelScope()
        self._down: str | None = None
        self._hurry = False
        self._failure: Escalation | None = None
        self._thrived = False
        self._began = trio.current_time()
        self.final = False
        self._shelter = Shelter()
        self._nursery: trio.Nursery

    async def run(self, started: Callable[[], None] = lambda: None) -> Ended:
        """Keep the children alive until told to end, or until the limit is used up."""
        self._due = [Due(trio.current_time(), list(self._order))]
        async with trio.open_nursery() as nursery:
            self._nursery = await nursery.start(self._shelter.keep)
            try:
                await self._oversee(started)
                await self._end_all(self._down or str(self._failure))
            except trio.Cancelled:
                self._down, self._hurry = self._down or "cut", True
                with trio.move_on_after(self.spec.patience, shield=True):
                    await self._end_all(self._down)
                raise
            finally:
                self._shelter.close(self.spec.patience)
        if self._failure is not None:
            return Ended(How.CRASHED, str(self._failure), self._failure, self._thrived)
        return Ended(How.STOPPED, self._down or "stopped", thrived=self._thrived)

    def stop(self, reason: str) -> None:
        """End every child in reverse order, without letting any finish its work."""
        self._hurry = True
        self._patience.cancel(reason)
        for place in self._places.values():
            if place.ending and place.running is not None:
                place.running.stop(reason)
        self._go_down(reason)

    def drain(self, reason: str) -> None:
        """End every child in reverse order, giving each its own time to finish."""
        self._go_down(reason)

    def describe(self, restarts: int = 0) -> Node:
        """The subtree, children that wait for a restart included."""
        return Node(
            name=self.spec.name,
            kind=self.spec.strategy.value,
            state="running" if self._down is None else "stopping",
            age=trio.current_time() - self._began,
            restarts=restarts,
            children=tuple(self._describe(place) for place in self._places.values()),
        )

    def _describe(self, place: Place) -> Node:
        restarts = max(place.lives - 1, 0)
        if place.running is not None:
            return place.running.describe(restarts=restarts)
        return Node(
            name=place.spec.name,
            kind=type(place.spec).__name__,
            state="ended" if place.retired else "down",
            restarts=restarts,
        )

    def _go_down(self, reason: str) -> None:
        if self._down is None:
            self._down = reason
        self._birth.cancel(reason)
        self._bell.set()

    # The loop --------------------------------------------------------------------------------

    async def _oversee(self, started: Callable[[], None]) -> None:
        announced = False
        while self._down is None and self._failure is None:
            if self._exits:
                await self._recover(self._exits.popleft())
            elif (due := self._next_due()) is not None:
                await self._start_group(due)
            else:
                if not announced and self._is_up():
                    announced = True
                    started()
                await self._news()

    def _is_up(self) -> bool:
        """Every child holds its place; one that keeps failing does not hold up independent ones."""
        alone = self.spec.strategy is Strategy.ONE_FOR_ONE
        return alone or not self._due

    async def _news(self) -> None:
        with trio.move_on_at(min((due.at for due in self._due), default=float("inf"))):
            await self._bell.wait()
        self._bell = trio.Event()

    def _next_due(self) -> Due | None:
        now = trio.current_time()
        for due in self._due:
            if due.at <= now:
                self._due.remove(due)
                return due
        return None

    # Coming up -------------------------------------------------------------------------------

    async def _start_group(self, due: Due) -> None:
        for at, name in enumerate(due.names, 1):
            place = self._places[name]
            with trio.CancelScope() as self._birth:
                await place.over.wait()  # never two lives in one place, however long one clings
                self._start(place)
                await place.settled.wait()
            if self._down is not None:
                return
            if place.running is None and self.spec.strategy is not Strategy.ONE_FOR_ONE:
                self._start_later(due.names[at:])
                return

    def _start_later(self, names: list[str]) -> None:
        """The exit of the one before them is in the queue: it brings them along, or lets them."""
        if names:
            self._due.append(Due(trio.current_time(), names))

    def _start(self, place: Place) -> None:
        place.lives += 1
        place.ending = False
        place.settled, place.over = trio.Event(), trio.Event()
        Context().run(self._nursery.start_soon, self._keep, place, place.lives)

    async def _keep(self, place: Place, life: int) -> None:
        ended = Ended(How.CANCELLED, "cut")
        try:
            ended = await self._live(place)
        finally:
            place.running = None
            place.settled.set()
            place.over.set()
            self._left(place, life, ended)

    async def _live(self, place: Place) -> Ended:
        if place.ending:
            return Ended(How.STOPPED, "told to end before it began")
        try:
            place.running = self._build(place.spec)
        except Exception as crash:  # noqa: BLE001  a supervisor is where crashes are read
            return Ended(How.CRASHED, f"could not be made: {in_words(crash)}", crash)
        try:
            return await place.running.run(place.settled.set)
        except Exception as crash:  # noqa: BLE001  as above; a supervisor below may crash itself
            return Ended(How.CRASHED, f"crashed: {in_words(crash)}", crash)

    def _build(self, spec: Spec) -> Running:
        match spec:
            case Branch():
                return Supervisor(spec, self._system, dice=self._dice)
            case Crowd():
                return CrowdSupervisor(spec, self._system, dice=self._dice)
            case Worker():
                return Life(
                    spec.make(),
                    spec.box,
                    self._system.journal,
                    grace=spec.grace,
                    start_within=spec.start_within,
                )

    def _left(self, place: Place, life: int, ended: Ended) -> None:
        if ended.how is How.CANCELLED:
            return  # we are being cut as a whole
        self._thrived = self._thrived or ended.thrived
        if not place.ending and not self._ends_for_good():
            self._exits.append(Exit(place, life, ended))
            self._bell.set()
        elif ended.error is not None:
            self._keep_cause(ended.error)
            self._system.journal.note(
                "child.crashed_while_ending", child=place.spec.name, error=in_words(ended.error)
            )

    # Going down ------------------------------------------------------------------------------

    async def _recover(self, exit_: Exit) -> None:
        place, ended = exit_.place, exit_.ended
        if place.lives != exit_.life:
            self._keep_cause(ended.error)  # a sibling's restart has already replaced this life
        elif (cause := hopeless(ended.error)) is not None:
            rest = [each for each in every_cause(ended.error or cause) if each is not cause]
            self._give_up(place, [*self._budget.causes(), *rest, cause])
        elif any(place.spec.name in due.names for due in self._due):
            self._keep_cause(ended.error)  # a sibling's restart is about to replace it
        elif not wants_restart(place.spec.restart, ended):
            self._let_go(place, ended.reason)
        elif not self._budget.spend(trio.current_time(), ended.error):
            self._give_up(place, self._budget.causes())
        else:
            await self._restart(place, ended)

    def _keep_cause(self, error: Exception | None) -> None:
        """Remember a crash that leads to no restart, so that an escalation can name it."""
        if error is None:
            return
        self._budget.remember(trio.current_time(), error)
        if self._failure is not None:
            self._failure.causes += (error,)

    def _let_go(self, place: Place, reason: str) -> None:
        place.retired = True
        retire(place.spec, self._system, reason)

    async def _restart(self, place: Place, ended: Ended) -> None:
        reason = f"restart of '{place.spec.name}'"
        names = self._merge_due(affected(self.spec.strategy, self._order, place.spec.name))
        for name in reversed(names):
            await self._end(self._places[name], reason)
        returning = [name for name in names if self._returns(self._places[name], reason)]
        delay = self._delay(place, ended)
        self._system.journal.note(
            "actor.restarted", actor=place.spec.name, together=returning, after=round(delay, 3)
        )
        self._due.append(Due(trio.current_time() + delay, returning))

    def _returns(self, place: Place, reason: str) -> bool:
        """Whether a child that was ended for the sake of a sibling starts again with it."""
        if place.spec.restart is Restart.TEMPORARY and not place.retired:
            self._let_go(place, reason)
        return not place.retired

    def _merge_due(self, names: list[str]) -> list[str]:
        """A restart that overlaps with one still due swallows it, so that nobody starts twice."""
        wanted = set(names)
        for due in [due for due in self._due if wanted & set(due.names)]:
            self._due.remove(due)
            wanted |= set(due.names)
        return [name for name in self._order if name in wanted]

    def _delay(self, place: Place, ended: Ended) -> float:
        backoff = place.spec.backoff
        if backoff is None:
            return 0.0
        place.attempt = 0 if ended.thrived else place.attempt
        delay = backoff.delay(place.attempt, self._dice)
        place.attempt += 1
        return delay

    def _give_up(self, place: Place, causes: Sequence[BaseException]) -> None:
        self._failure = Escalation(self.spec.name, place.spec.name, causes)
        self._failure.__cause__ = causes[-1] if causes else None
        self._system.journal.note(
            "supervisor.escalated",
            supervisor=self.spec.name,
            child=place.spec.name,
            causes=[in_words(cause) for cause in causes],
        )
        while self._exits:  # nobody will recover from these any more, but they are causes too
            self._keep_cause(self._exits.popleft().ended.error)

    async def _end_all(self, reason: str) -> None:
        for name in reversed(self._order):
            await self._end(self._places[name], reason)

    async def _end(self, place: Place, reason: str) -> None:
        """End one child within its patience; a child that will not is left to the watchdog."""
        if not place.over.is_set():
            place.ending = True
            await self._end_life(place, reason)
        if not place.over.is_set():
            self._system.journal.note("child.stuck", child=place.spec.name)
        if self.final and self._ends_for_good():
            retire(place.spec, self._system, reason)

    async def _end_life(self, place: Place, reason: str) -> None:
        # A child that was just told to start has nobody to tell yet; it looks at `ending` first.
        running = place.running
        if isinstance(running, Supervisor):
            running.final = self.final and self._ends_for_good()
        drain, grace = self._times(place.spec)
        if running is not None and drain > 0 and not self._hurry and self._failure is None:
            running.drain(reason)
            with trio.move_on_after(drain):
                await self._wait_while_draining(place.over)
        if not place.over.is_set():
            if running is not None:
                running.stop(reason)
            with trio.move_on_after(grace):
                await place.over.wait()

    def _ends_for_good(self) -> bool:
        return self._down is not None or self._failure is not None

    def _times(self, spec: Spec) -> tuple[float, float]:
        """How long to let a child finish, and how long to wait for it once it is told to end."""
        if isinstance(spec, Branch):
            return spec.patience, spec.patience
        return spec.drain, spec.grace + 1.0

    async def _wait_while_draining(self, over: trio.Event) -> None:
        """Wait, unless `stop` says that there is no more time for waiting."""
        with trio.CancelScope() as self._patience:
            await over.wait()


async def run_tree(
    root: Supervisor, system: System, started: Callable[[], None] = lambda: None
) -> Ended:
    """Run the topmost supervisor. When it has ended, so has every address below it."""
    root.final = True
    try:
        return await root.run(started)
    finally:
        retire(root.spec, system, "the gateway has ended")
