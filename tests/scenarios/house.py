"""A supervised house for sweeps: opened, used, closed, and its books checked afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import trio

from hermes_actors.runtime import Ended, Ref, System
from hermes_actors.testing.sweep import Stage, SweepReport, cancel_at_every_step
from supervisors.policy import Limit, Strategy
from supervisors.spec import Branch, Spec, Worker, worker
from supervisors.supervisor import Supervisor, run_tree
from tests.scenarios.ledger import Clerk, Ledger

SEEDS = (0, 1, 2)


class House:
    """One tree of clerks with one ledger."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.system = System(stage.journal)
        self.ledger = Ledger(self.system)
        self.ended: Ended | None = None
        self.ready, self.over = trio.Event(), trio.Event()
        self.root: Supervisor
        self._workers: dict[str, Worker] = {}
        stage.world = self

    def clerk(self, name: str, **settings: Any) -> Worker:
        """A worker whose every message is in the ledger."""
        settings.setdefault("make", lambda: Clerk(name, self.ledger))
        self._workers[name] = worker(name, **settings)
        return self._workers[name]

    def build(
        self,
        children: Sequence[Spec],
        strategy: Strategy = Strategy.ONE_FOR_ONE,
        limit: Limit | None = None,
    ) -> None:
        """Decide on the tree; nothing runs yet."""
        branch = Branch(
            name="root", children=tuple(children), strategy=strategy, limit=limit or Limit(9, 60)
        )
        self.root = Supervisor(branch, self.system, dice=lambda: 0.5)

    def ref(self, name: str) -> Ref[Any]:
        return self._workers[name].ref

    async def run(self) -> None:
        """Run the tree; `ready` when it is up, `over` when it has ended."""
        try:
            self.ended = await run_tree(self.root, self.system, self.ready.set)
        finally:
            self.ready.set()
            self.over.set()

    async def close(self) -> None:
        """End the tree in good order."""
        self.root.drain("the scenario is over")
        await self.over.wait()

    def check(self) -> None:
        """What must hold at the end of every run of every sweep."""
        problems = self.ledger.balance()
        assert not problems, "; ".join(problems)
        for name, each in self._workers.items():
            assert each.box.closed is not None, f"the box of '{name}' was left open"
            assert len(each.box) == 0, f"'{name}' still has {len(each.box)} messages waiting"


def check_house(stage: Stage) -> None:
    """The usual verify function."""
    house: House = stage.world
    house.check()


def sweep(
    scenario: Callable[[Stage], Any], verify: Callable[[Stage], object] = check_house
) -> SweepReport:
    """Every step, three modes, three seeds; all must be well, and nothing may be left out."""
    report = cancel_at_every_step(scenario, seeds=SEEDS, verify=verify)
    assert report.ok, report
    assert report.exhaustive, report
    return report
