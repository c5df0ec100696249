"""The steps of an orderly end, on virtual time. Real signals are in test_gateway_process."""

from __future__ import annotations

import signal
from collections.abc import Callable

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from hermes_actors.journal import Journal
from hermes_actors.runtime import Ended, How, Node
from supervisors.shutdown import Deadlines, Shutdown
from supervisors.watchdog import Watchdog


class Root:
    """A tree that ends `after` seconds of being told to drain, or is deaf."""

    def __init__(self, after: float = float("inf")) -> None:
        self.log: list[str] = []
        self._after, self._told = after, trio.Event()

    async def run(self, started: Callable[[], None] = lambda: None) -> Ended:
        await self._told.wait()
        await trio.sleep(self._after)
        return Ended(How.STOPPED, "done")

    def stop(self, reason: str) -> None:
        self.log.append(f"{trio.current_time():g} stop {reason}")

    def drain(self, reason: str) -> None:
        self.log.append(f"{trio.current_time():g} drain {reason}")
        self._told.set()

    def describe(self, restarts: int = 0) -> Node:
        return Node(name="root", kind="double", state="running")


class Quiet(Watchdog):
    """Remembers for how long it was armed, and never strikes."""

    def __init__(self) -> None:
        self.armed: list[float] = []

    def arm(self, seconds: float, why: str) -> None:
        self.armed.append(seconds)

    def close(self) -> None:
        pass


def make(root: Root, watchdog: Watchdog, journal: Journal | None = None) -> Shutdown:
    return Shutdown(root, watchdog, journal or Journal(), Deadlines(drain=10.0, grace=5.0))


async def end(shutdown: Shutdown, root: Root) -> Ended | None:
    ended = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shutdown.see_through)
        with shutdown.everything:
            ended = await root.run()
        nursery.cancel_scope.cancel()
    return ended


async def test_a_tree_that_ends_in_time_is_only_drained(autojump_clock: MockClock) -> None:
    root = Root(after=3.0)
    shutdown = make(root, Quiet())
    shutdown.begin("SIGTERM")
    assert await end(shutdown, root) == Ended(How.STOPPED, "done")
    assert root.log == ["0 drain SIGTERM"]
    assert trio.current_time() == 3.0
    assert not shutdown.cut


async def test_each_step_follows_when_the_one_before_was_not_enough(
    autojump_clock: MockClock,
) -> None:
    root, watchdog, journal = Root(), Quiet(), Journal()
    shutdown = make(root, watchdog, journal)
    shutdown.begin("SIGTERM")
    assert await end(shutdown, root) is None
    assert root.log == ["0 drain SIGTERM", "10 stop SIGTERM"]
    assert trio.current_time() == 15.0
    assert shutdown.cut
    assert watchdog.armed == [10.0]
    kinds = [entry.kind for entry in journal.recent()]
    assert kinds == ["gateway.stopping", "gateway.drain_over", "gateway.cut"]


async def test_asked_twice_it_cuts_at_once_and_a_third_time_changes_nothing(
    autojump_clock: MockClock,
) -> None:
    root = Root()
    shutdown = make(root, Quiet())

    async def ask_again() -> None:
        await wait_all_tasks_blocked()
        shutdown.begin("SIGINT")
        shutdown.begin("SIGINT")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask_again)
        shutdown.begin("SIGINT")
        assert await end(shutdown, root) is None
    assert root.log == ["0 drain SIGINT"]
    assert trio.current_time() == 0.0


async def test_a_signal_arms_the_watchdog_before_trio_hears_of_it() -> None:
    root, watchdog = Root(after=0.0), Quiet()
    shutdown = make(root, watchdog)
    before = signal.getsignal(signal.SIGTERM)
    with shutdown.on_signals():
        signal.raise_signal(signal.SIGTERM)
        assert watchdog.armed == [20.0]
        assert shutdown.reason is None
        await wait_all_tasks_blocked()
        assert shutdown.reason == "SIGTERM"
    assert signal.getsignal(signal.SIGTERM) is before
