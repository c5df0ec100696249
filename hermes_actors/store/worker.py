"""A thread that owns one blocking thing, and lets Trio tasks use it one after another.

Cancelling a task that waits here is immediate: the running statement is asked to end and its
result is thrown away. Three rules keep that from harming anybody else. Only the job whose task
left is interrupted, never the one that happens to run. A job that was left before it began is not
begun. And the thing is not handed to anybody else (`freed`) before the thread is really done.

apsw's own asynchronous mode was measured against this and is equally fast. It was not taken because
its threads keep a process alive that wants to end, and because leaving a shielded wait and ending
the statement are one decision there and two here.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, cast

import outcome
import trio

from hermes_actors.errors import ActorGone


class Blocking(Protocol):
    """What a worker can own."""

    def interrupt(self) -> None:
        """Make what runs now fail soon; called from another thread, also while closing."""

    def close(self) -> None:
        """Let go; called in the owning thread, once."""


B = TypeVar("B", bound=Blocking)
B_uses = TypeVar("B_uses", bound=Blocking, covariant=True)
T = TypeVar("T")


def _nobody_cares() -> None:
    """The usual `freed`."""


class Worker(Protocol[B_uses]):
    """How the store's actors use a blocking thing, whichever thread it lives in."""

    async def open(self) -> None:
        """Make the thing."""

    async def run(self, use: Callable[[B_uses], T], freed: Callable[[], None] = _nobody_cares) -> T:
        """Use it. `freed` is called once it is free again, also if nobody waited for the result."""

    async def close(self) -> None:
        """Close it after everything that was asked before. A second time does nothing.

        Cancelling hurries: what runs is interrupted, and the thing is closed when it has ended.
        """


class _Job:
    """One use, and the task that waits for it (None once it was cancelled)."""

    __slots__ = ("freed", "must", "task", "use")

    def __init__(self, use: Callable[[], Any], freed: Callable[[], None], must: bool) -> None:
        self.use, self.freed, self.must = use, freed, must
        self.task: trio.lowlevel.Task | None = trio.lowlevel.current_task()

    def settle(self, result: outcome.Outcome[Any]) -> None:
        self.freed()
        task, self.task = self.task, None
        if task is not None:
            trio.lowlevel.reschedule(task, result)


class ThreadWorker(Generic[B]):
    """The thing lives in a thread of its own, which ends with `close`, or with the process."""

    def __init__(self, make: Callable[[], B], name: str) -> None:
        self._make, self._name = make, name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thing: B | None = None
        self._running: _Job | None = None
        self._lock = threading.Lock()  # for `_running`, and never held while anything is done
        self._token: trio.lowlevel.TrioToken | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    async def open(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        # A daemon, so that a disk that never answers cannot keep the process alive.
        self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
        self._thread.start()
        await self._submit(self._acquire, must=True)

    async def run(self, use: Callable[[B], T], freed: Callable[[], None] = _nobody_cares) -> T:
        return cast("T", await self._submit(lambda: use(self._owned()), freed))

    async def close(self) -> None:
        if self._thread is None or self._closed:
            return
        self._closed = True
        try:
            await self._submit(self._release, must=True)
        finally:
            self._jobs.put(None)
        # It has nothing left to do, so this takes no time, and the count of threads is right.
        self._thread.join(1.0)

    async def _submit(
        self, use: Callable[[], Any], freed: Callable[[], None] = _nobody_cares, must: bool = False
    ) -> Any:
        job = _Job(use, freed, must)
        self._jobs.put(job)

        def leave(_: object) -> trio.lowlevel.Abort:
            self._leave(job)
            return trio.lowlevel.Abort.SUCCEEDED

        return await trio.lowlevel.wait_task_rescheduled(leave)

    def _leave(self, job: _Job) -> None:
        job.task = None
        with self._lock:
            running = self._running
            # Whoever leaves `close` wants it to hurry, so there any job is meant.
            meant = running is job or (job.must and running is not None and not running.must)
            if meant and self._thing is not None:
                self._thing.interrupt()

    def _owned(self) -> B:
        if self._thing is None:
            raise ActorGone(self._name, "it is not open")
        return self._thing

    # In the thread -------------------------------------------------------------------------

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            if not self._report(job, self._do(job)):
                break
        outcome.capture(self._release)  # a no-op, unless Trio has ended without closing us

    def _do(self, job: _Job) -> outcome.Outcome[Any]:
        with self._lock:
            if job.task is None and not job.must:
                return outcome.Value(None)
            self._running = job
        result: outcome.Outcome[Any] = outcome.capture(job.use)
        with self._lock:
            self._running = None
        return result

    def _report(self, job: _Job, result: outcome.Outcome[Any]) -> bool:
        assert self._token is not None
        try:
            self._token.run_sync_soon(job.settle, result)
        except trio.RunFinishedError:
            return False
        return True

    def _acquire(self) -> None:
        self._thing = self._make()

    def _release(self) -> None:
        with self._lock:
            thing, self._thing = self._thing, None
        if thing is not None:
            thing.close()


class InlineWorker(Generic[B]):
    """The thing is used in Trio's own thread: every use is one step, in exact order.

    For tests on virtual time and for simulation. It blocks everything while the disk works.
    """

    def __init__(self, make: Callable[[], B], name: str) -> None:
        self._make, self._name = make, name
        self._thing: B | None = None

    async def open(self) -> None:
        await trio.lowlevel.checkpoint()
        self._thing = self._make()

    async def run(self, use: Callable[[B], T], freed: Callable[[], None] = _nobody_cares) -> T:
        try:
            await trio.lowlevel.checkpoint()
            if self._thing is None:
                raise ActorGone(self._name, "it is not open")
            return use(self._thing)
        finally:
            freed()

    async def close(self) -> None:
        thing, self._thing = self._thing, None
        if thing is not None:
            thing.close()
        await trio.lowlevel.checkpoint()
