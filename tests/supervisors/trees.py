"""Small trees whose every event is written down, for the tests of the supervisors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

from hermes_actors.errors import Escalation
from hermes_actors.runtime import Actor, Ended, Ref, System
from supervisors.policy import Limit, Strategy
from supervisors.spec import Branch, Spec, Worker, worker
from supervisors.supervisor import Supervisor, run_tree


class Recorder:
    """One list for all children: the order of everything is part of the promise."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def child(self, name: str, **settings: Any) -> Worker:
        return worker(name, lambda: Member(name, self.events), **settings)


class Member(Actor[str]):
    def __init__(self, name: str, events: list[str]) -> None:
        self._name, self._events = name, events

    async def started(self) -> None:
        self._events.append(f"+{self._name}")

    async def receive(self, message: str) -> object:
        if message == "crash":
            raise ValueError(f"crash of {self._name}")
        if message == "prove":
            self.thrived()
        if message.startswith("work "):
            await trio.sleep(float(message.removeprefix("work ")))
            self._events.append(f"{self._name} worked")
        return message

    async def stopped(self) -> None:
        self._events.append(f"-{self._name}")


class Tree:
    def __init__(self, branch: Branch, dice: float) -> None:
        self.system = System()
        self.root = Supervisor(branch, self.system, dice=lambda: dice)
        self.branch = branch
        self.ended: Ended | None = None
        self.over = trio.Event()
        self.up = trio.Event()

    async def run(self) -> None:
        try:
            self.ended = await run_tree(self.root, self.system, self.up.set)
        finally:
            self.over.set()

    def ref(self, name: str) -> Ref[str]:
        for child in self.branch.children:
            if child.name == name and isinstance(child, Worker):
                return child.ref
        raise KeyError(name)

    @property
    def failure(self) -> Escalation:
        assert self.ended is not None
        assert isinstance(self.ended.error, Escalation)
        return self.ended.error


@asynccontextmanager
async def tree(
    children: Sequence[Spec],
    strategy: Strategy = Strategy.ONE_FOR_ONE,
    limit: Limit | None = None,
    dice: float = 0.5,
) -> AsyncIterator[Tree]:
    it = Tree(
        Branch(name="root", children=tuple(children), strategy=strategy, limit=limit or Limit()),
        dice,
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(it.run)
        await wait_all_tasks_blocked()
        yield it
        it.root.stop("end of test")
