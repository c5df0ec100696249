"""A program that keeps a store busy, and says on its output what it was told.

Several conversations go on at once, in an order drawn from a seed. A line is printed only after the
store has answered, and the output is no part of the store: so whatever it says must be in the
file, no matter when the process is killed. Started again on the same file it recovers and goes on.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import trio

from hermes_actors.errors import StoreRefused
from hermes_actors.store import (
    Store,
    Write,
    all_of,
    bindings,
    inbox,
    outbox,
    recovery,
    runs,
    tool_calls,
)
from hermes_actors.store.inbox import NewInbox
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.outbox import NewReply
from hermes_actors.store.runs import NewRun, RunEnd
from hermes_actors.store.sessions import NewSession
from hermes_actors.store.states import RunState, ToolOutcome
from hermes_actors.store.tool_calls import NewCall
from tests.hermes_actors.store.house import note, running

SESSIONS = 4


def tell(what: str, name: str) -> None:
    os.write(1, f"{what} {name}\n".encode())


class Conversation:
    """Turns of one session, each through all the stations of a turn."""

    def __init__(self, store: Store, session: str, dice: random.Random) -> None:
        self._store, self._session, self._dice = store, session, dice

    async def go_on(self, generation: str, rounds: int) -> None:
        new = NewSession(
            id=self._session, session_key=self._session, agent_id="main", platform="chat"
        )
        await self._store.write(bindings.open_session(new, now=1.0))
        for number in range(rounds):
            await self._turn(f"{generation}-{self._session}-{number}")
            await self._notes(f"{generation}-{number}")

    async def _turn(self, name: str) -> None:
        message = NewInbox(
            key=name, session_key=self._session, agent_id="main", platform="chat", payload="{}"
        )
        await self._store.write(inbox.accept(message, now=2.0))
        tell("accepted", name)
        first = (await self._store.read(inbox.queued(self._session)))[0]
        said = [NewMessage(role="user", content=f"words of {first.key}")]
        run = NewRun(id=name, session_id=self._session, session_key=self._session, agent_id="main")
        await self._store.write(runs.begin(run, claim=[first.id], said=said, now=3.0))
        tell("begun", name)
        for call in range(self._dice.randrange(3)):
            await self._call(name, f"call-{call}")
        await self._store.write(runs.end(self._ending(name), now=9.0))
        tell("ended", name)
        for reply in (await self._store.read(outbox.heads(now=9.0)))[:2]:
            await self._deliver(reply.id)

    async def _call(self, run: str, call: str) -> None:
        calls = [NewCall(call_id=call, name="tool")]
        await self._store.write(tool_calls.intend(run, self._session, calls, now=4.0))
        await self._store.write(tool_calls.start(run, call, now=5.0))
        if self._dice.random() < 0.7:
            result = NewMessage(role="tool", tool_call_id=call, content="done")
            finish = tool_calls.finish(run, call, ToolOutcome.OK, result=result, now=6.0)
            await self._store.write(finish)
            tell("called", f"{run}/{call}")

    def _ending(self, run: str) -> RunEnd:
        sealed = (NewMessage(role="assistant", content=f"answer of {run}"),)
        replies = tuple(
            NewReply(key=f"{run}/{part}", platform="chat", chat_id=self._session, text="x")
            for part in (1, 2)
        )
        return RunEnd(
            run_id=run, state=RunState.COMPLETED, reason="ok", sealed=sealed, replies=replies
        )

    async def _deliver(self, row: int) -> None:
        """Rows belong to everybody: another conversation may have been faster."""
        await trio.lowlevel.checkpoint()
        try:
            await self._store.write(outbox.take(row, now=10.0))
        except StoreRefused as no:
            if no.kind != "conflict":
                raise
        else:
            await self._store.write(outbox.sent(row, None, now=11.0))
            tell("sent", str(row))

    async def _notes(self, content: str) -> None:
        """Three rows that must always say the same."""
        same = [note(f"{self._session}/{part}", content) for part in range(3)]
        await self._store.write(all_of(*same))
        tell("noted", f"{self._session}={content}")


async def recover(store: Store) -> None:
    await store.write(recovery.doubt(now=20.0))
    for orphan in await store.read(recovery.orphans()):
        recovered = await store.write(recovery.end_orphan(orphan.run.id, now=21.0))
        tell("recovered", " ".join((orphan.run.id, *recovered.queued)))


async def main(folder: Path, generation: str, seed: int, rounds: int) -> None:
    dice = random.Random(seed)
    async with running(folder, checkpoint_pages=30, batch=8) as house:
        await recover(house.store)
        await house.store.write(Write(lambda _: None))
        async with trio.open_nursery() as nursery:
            for number in range(SESSIONS):
                talk = Conversation(house.store, f"s{number}", random.Random(dice.random()))
                nursery.start_soon(talk.go_on, generation, rounds)
    tell("finished", generation)


if __name__ == "__main__":
    trio.run(main, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
