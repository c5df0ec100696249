"""One run of the gateway: the tree, the signals, and what to say at the beginning and the end."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import msgspec
import trio

from hermes_actors.errors import EXIT_OK, EXIT_TRY_AGAIN
from hermes_actors.hooks import HookBus
from hermes_actors.hooks.events import GatewayStarted, GatewayStopping
from hermes_actors.hooks.kinds import Observation
from hermes_actors.runtime import Ended, How, Node, System
from supervisors.policy import hopeless
from supervisors.shutdown import Deadlines, Shutdown
from supervisors.spec import Branch
from supervisors.stacks import TaskList
from supervisors.supervisor import Supervisor, run_tree
from supervisors.watchdog import Watchdog

VERSION = version("hermes-actors")
_LAST_WORDS = 5.0


class Verdict(msgspec.Struct, frozen=True):
    """How a run of the gateway ended: the process's exit code, and why."""

    exit_code: int
    reason: str


class View:
    """What other rooms may see of a running gateway."""

    def __init__(self) -> None:
        self.root: Supervisor | None = None
        self.status = "starting"
        self._began = trio.current_time()

    def health(self) -> dict[str, Any]:
        """A few facts that anybody may know."""
        uptime = round(trio.current_time() - self._began, 3)
        return {"status": self.status, "version": VERSION, "uptime": uptime}

    def tree(self) -> Node:
        """The live actor tree."""
        if self.root is None:
            return Node(name="gateway", kind="Branch", state="starting")
        return self.root.describe()


class Gateway:
    """Runs a tree until a signal, or until the tree gives up."""

    def __init__(self, system: System, bus: HookBus, deadlines: Deadlines) -> None:
        self._system, self._bus, self._deadlines = system, bus, deadlines
        self.view = View()

    async def run(
        self,
        tree: Branch,
        hello: GatewayStarted,
        up: Callable[[], None] = lambda: None,
    ) -> Verdict:
        """Live. When every child has started, `up` is called and plugins hear `hello`."""
        root = self.view.root = Supervisor(tree, self._system)
        tasks = TaskList()
        tasks.attach()
        watchdog = Watchdog(tasks.write)
        try:
            async with trio.open_nursery() as nursery:

                def started() -> None:
                    self.view.status = "ok"
                    up()
                    nursery.start_soon(self._tell, hello)

                def stopping(reason: str) -> None:
                    self.view.status = "stopping"
                    bye = GatewayStopping(reason=reason, drain_seconds=self._deadlines.drain)
                    nursery.start_soon(self._tell, bye)

                shutdown = Shutdown(
                    root, watchdog, self._system.journal, self._deadlines, announce=stopping
                )
                with shutdown.on_signals():
                    verdict = await self._until_the_end(nursery, root, shutdown, started)
                nursery.cancel_scope.cancel("the tree has ended")
        finally:
            watchdog.close()
        return verdict

    async def _until_the_end(
        self,
        nursery: trio.Nursery,
        root: Supervisor,
        shutdown: Shutdown,
        started: Callable[[], None],
    ) -> Verdict:
        nursery.start_soon(shutdown.see_through)
        ended: Ended | None = None
        with shutdown.everything:
            ended = await run_tree(root, self._system, started)
        verdict = judge(ended)
        self._system.journal.note(
            "gateway.ended", reason=verdict.reason, exit_code=verdict.exit_code
        )
        return verdict

    async def _tell(self, event: Observation) -> None:
        # The tree may be gone in a moment; whoever listens still gets the time that hooks have.
        with trio.move_on_after(_LAST_WORDS, shield=True):
            await self._bus.fire(event)


def judge(ended: Ended | None) -> Verdict:
    """The exit code that a service manager can act on: 0 done, 75 try again, 78 do not."""
    if ended is None:
        return Verdict(EXIT_TRY_AGAIN, "cut before everything had ended")
    if ended.how is not How.CRASHED:
        return Verdict(EXIT_OK, ended.reason)
    cause = hopeless(ended.error)
    return Verdict(EXIT_TRY_AGAIN if cause is None else cause.exit_code, str(cause or ended.error))
