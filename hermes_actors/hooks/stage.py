"""Where handlers run, so that whoever fires a hook can always walk away from them.

A task cannot leave its nursery, so a handler that refuses to end would hold whoever waits for its
nursery. Handlers therefore live in one long-lived nursery, `Stage.run`, and the caller only waits
for an event. When patience runs out the handler is cancelled; if it is still there a moment later
it is left behind: counted, not waited for. Plain functions run in worker threads, which nobody can
end; there, left behind means that the thread goes on and keeps its place among a fixed number.

When everything is cancelled at once, the last hooks of the last runs are still to fire. So the
nursery is shielded: after the end of `run` it lets the calls in flight finish, within a deadline,
and calls that come later run in a nursery of their own caller, under their caller's shield.

A handler that waits for ever inside a shield of its own holds up no caller, for it is left behind.
But when the nursery itself has to end there is nowhere to leave it, and its shields are broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import msgspec
import trio

from hermes_actors.hooks.handlers import Handler
from hermes_actors.hooks.leash import LetGo, Pace, leashed
from hermes_actors.hooks.shields import end_all_in

# The end of a handler's time belongs to its clean-up: cancelled here, left behind at the end.
# Where there is little time altogether, it is at most a quarter of it.
GRACE = 0.1

_inside: ContextVar[tuple[Handler, ...]] = ContextVar("handlers_we_are_inside_of", default=())


def inside(handler: Handler) -> bool:
    """True in code that this very handler is running, directly or through other hooks."""
    return handler in _inside.get()


class Returned(msgspec.Struct, frozen=True):
    """The handler came back in time with a value."""

    value: Any


class Failed(msgspec.Struct, frozen=True):
    """The handler is to blame. `reason` holds no words of users; `place` is its file and line."""

    reason: str
    place: str = ""


class NotRun(msgspec.Struct, frozen=True):
    """Nobody is to blame, but there is no answer."""

    reason: str


Outcome = Returned | Failed | NotRun


class Call:
    """One handler, called once."""

    def __init__(self, handler: Handler, arguments: dict[str, Any]) -> None:
        self.handler, self._arguments = handler, arguments
        self.scope, self.ended = trio.CancelScope(), trio.Event()
        self.pace = Pace()
        self._around = [self.scope]
        self._outcome: Outcome | None = None
        self._out_of_time = self._held_up = False
        self._given_up = self._thread_began = self._thread_ended = False
        self._remains: LetGo | None = None

    @property
    def still_there(self) -> bool:
        """True while the handler uses a task or a thread, or could not even be closed."""
        if self._remains is not None:
            return not self._remains.closed
        return not self.ended.is_set() or (self._thread_began and not self._thread_ended)

    def outcome(self, patience: float) -> Outcome:
        """What is to be said of this call now; later answers do not count."""
        if self._out_of_time and not self.handler.is_async and not self._thread_began:
            return NotRun("no thread was free")
        if self._remains is not None:
            return Failed("ignored its cancellation")
        # It blocked the event loop, so that no timer could go off.
        if self.pace.busy > patience:
            return Failed(f"held the event loop for more than {patience:g} s")
        if self._held_up:
            return NotRun("was held up by another handler")
        if self._out_of_time:
            return Failed(f"gave no answer within {patience:g} s")
        return self._outcome or NotRun("was cancelled from outside")

    async def live(self, home: trio.Nursery, threads: trio.CapacityLimiter) -> None:
        """Run the handler to its end, whatever that is; only `Cancelled` and worse come out.

        It gets a nursery of its own: a handler that cancels the nursery it finds itself in, or
        raises a `Cancelled` that it kept, ends itself and nobody else.
        """
        try:
            with self.scope:
                async with trio.open_nursery() as own:
                    self._around += own.cancel_scope, home.cancel_scope
                    own.start_soon(self._act, threads, name=f"hook {self.handler.label}")
        finally:
            self.ended.set()

    async def _act(self, threads: trio.CapacityLimiter) -> None:
        _inside.set((*_inside.get(), self.handler))
        try:
            self._outcome = Returned(await self._invoke(threads))
        except LetGo as remains:
            self._remains = remains
        # Border to foreign code: becomes the outcome, and so does an attempt to end the process.
        except (Exception, SystemExit) as failure:  # noqa: BLE001
            self._outcome = _blame(failure)
        except BaseExceptionGroup as mixed:
            # A cancellation from outside met an error from inside: each goes its own way.
            errors, others = mixed.split((Exception, SystemExit))
            if errors is not None:
                self._outcome = _blame(errors)
            if others is not None:
                raise others from None

    def time_is_up(self, *, loop_was_held: bool) -> None:
        """Too late, if it has no answer; not its fault, if it was others who held the loop."""
        self._out_of_time = self._outcome is None and not self.ended.is_set()
        self._held_up = self._out_of_time and loop_was_held and self.pace.busy <= GRACE
        self.give_up()

    def give_up(self) -> None:
        """Nobody waits any more. Does nothing to a call that has ended."""
        self._given_up = True
        self.scope.cancel("nobody waits for this handler any more")

    async def _invoke(self, threads: trio.CapacityLimiter) -> Any:
        if self.handler.is_async:
            work = self.handler.function(**self._arguments)
            return await leashed(work, self._must_end, self.pace)
        returned = await trio.to_thread.run_sync(
            self._in_thread, abandon_on_cancel=True, limiter=threads
        )
        return returned.value

    def _must_end(self) -> bool:
        return any(scope.cancel_called for scope in self._around)

    def _in_thread(self) -> Returned:
        # Written before `_given_up` is read, and read by the other side after it is written:
        # a call that is given up has either been seen to begin, or never touches the handler.
        self._thread_began = True
        try:
            return Returned(None if self._given_up else self.handler.function(**self._arguments))
        finally:
            self._thread_ended = True


def _blame(failure: BaseException) -> Failed:
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return Failed(f"raised {type(failure).__name__}")
    file = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return Failed(f"raised {type(failure).__name__}", f"{file}:{trace.tb_lineno}")


class Stage:
    """Gives calls a place to run in, and knows which of them are still there."""

    def __init__(self, threads: int, linger: float) -> None:
        self._threads = trio.CapacityLimiter(threads)
        self._linger = linger
        self._home: trio.Nursery | None = None
        self._left: set[Call] = set()

    async def run(self) -> None:
        """Keep a home for handlers until cancelled; calls in flight may then still finish."""
        closing = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_home, closing)
            try:
                await trio.sleep_forever()
            finally:
                self._home = None
                closing.set()

    async def _keep_home(self, closing: trio.Event) -> None:
        # The deadline of this shield is set by the event, which no way out of `run` passes by.
        with trio.CancelScope(shield=True) as shield:
            while not closing.is_set():
                # Again, because a handler can reach this nursery through its own task
                # and cancel it; that must not leave the next hook without a home.
                async with trio.open_nursery() as yard:
                    async with trio.open_nursery() as home:
                        yard.start_soon(_clear_when_cancelled, home)  # noqa: ASYNC111
                        self._home = home
                        await self._until(closing)
                        shield.deadline = trio.current_time() + self._linger
                    yard.cancel_scope.cancel("the home is empty")

    async def _until(self, closing: trio.Event) -> None:
        try:
            await closing.wait()
        finally:
            self._home = None

    async def perform(self, calls: Sequence[Call], patience: float) -> None:
        """Run all calls side by side; return within `patience`, whether they have ended or not.

        Cancelling the caller gives up on all of them at once.
        """
        if self._home is not None:
            return await self._attend(self._home, calls, patience)
        async with trio.open_nursery() as own:
            try:
                await self._attend(own, calls, patience)
            finally:
                await end_all_in(own)  # noqa: ASYNC102, ASYNC120  it has its own shield and deadline

    async def _attend(self, home: trio.Nursery, calls: Sequence[Call], patience: float) -> None:
        try:
            for call in calls:
                home.start_soon(call.live, home, self._threads, name="a hook's call")
            grace = min(GRACE, patience / 4)
            if not await _all_ended(calls, patience - grace):
                held = sum(call.pace.busy for call in calls) > GRACE
                for call in calls:
                    call.time_is_up(loop_was_held=held)
                await _all_ended(calls, grace)
        finally:
            for call in calls:
                call.give_up()
            self._left.update(call for call in calls if call.still_there)

    def left_behind(self) -> tuple[Call, ...]:
        """Calls that nobody waits for and that have not gone away."""
        self._left = {call for call in self._left if call.still_there}
        return tuple(self._left)

    def threads_are_stuck(self) -> bool:
        """True when every thread for plain handlers is held by one that never came back."""
        stuck = sum(not call.handler.is_async for call in self.left_behind())
        return stuck >= self._threads.total_tokens


async def _clear_when_cancelled(home: trio.Nursery) -> None:
    try:
        await trio.sleep_forever()
    finally:
        await end_all_in(home)  # noqa: ASYNC102, ASYNC120  it has its own shield and deadline


async def _all_ended(calls: Sequence[Call], patience: float) -> bool:
    with trio.move_on_after(patience):
        for call in calls:
            await call.ended.wait()
    return all(call.ended.is_set() for call in calls)
