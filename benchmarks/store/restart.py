"""A start after a crash, on a house of ten thousand sessions, some of them in the middle of a turn.

Every session has a binding and a few messages; one in a hundred was in the middle of a run with
a message in hand when the process was killed, so the log beside the database is not folded back.
The time is that of a whole new process: interpreter, imports, opening, and ending every orphan.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, time

import trio

from benchmarks.child import figures, launch, tell
from benchmarks.result import Result, at_most
from benchmarks.rounds import Size, typical
from benchmarks.store.house import folder, open_store
from benchmarks.table import number
from hermes_actors.store import StoreSettings, Write, bindings, inbox, messages, recovery, runs
from hermes_actors.store.connection import open_writer
from hermes_actors.store.inbox import NewInbox
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.runs import NewRun
from hermes_actors.store.sessions import NewSession
from hermes_actors.store.sql import Sql

MESSAGES = 4
ONE_IN = 100


def measure(size: Size) -> Iterator[Result]:
    """Seconds until a new process has recovered; each round finds a house that was just killed."""
    sessions = size.of(10_000)
    with folder() as place:
        files = (place / f"{round_}.db" for round_ in range(size.rounds))
        seconds = typical(lambda: _restart(next(files), sessions), min(size.rounds, 3))
        interpreter = typical(_interpreter, min(size.rounds, 3))
    yield Result(
        name=f"restart on {number(sessions)} sessions",
        value=seconds,
        unit="s",
        target=at_most(2),
        beside=f"killed in {number(_orphans(sessions))} turns; a whole process (wall-clock time), "
        f"of which the bare interpreter is {number(1000 * interpreter)} ms",
    )


def _restart(file: Path, sessions: int) -> float:
    killed = launch(fill, file, sessions)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    begin = perf_counter()
    found = figures(recover, file)
    seconds = perf_counter() - begin
    assert found["orphans"] == _orphans(sessions), found
    return seconds


def _interpreter() -> float:
    begin = perf_counter()
    subprocess.run([sys.executable, "-c", ""], check=True)
    return perf_counter() - begin


def _orphans(sessions: int) -> int:
    return -(-sessions // ONE_IN)


# In the children -----------------------------------------------------------------------------


def fill(file: str, sessions: str) -> None:
    """Write a full house in one transaction, and die without closing it."""
    db = open_writer(StoreSettings(path=file))
    db.execute("BEGIN IMMEDIATE")
    for index in range(int(sessions)):
        _move_in(db, f"s{index}", in_a_turn=index % ONE_IN == 0)
    db.execute("COMMIT")
    os.kill(os.getpid(), signal.SIGKILL)


def _move_in(sql: Sql, name: str, *, in_a_turn: bool) -> None:
    key, now = f"agent:main:chat:{name}", time()
    new = NewSession(id=name, session_key=key, agent_id="main", platform="chat")
    bindings.open_session.within(sql, new, now=now)
    words = NewMessage(role="user", content="a sentence of about fifty characters, as people write")
    messages.append.within(sql, name, [words] * MESSAGES, now=now)
    if in_a_turn:
        letter = NewInbox(
            key=f"chat:{name}", session_key=key, agent_id="main", platform="chat", payload="{}"
        )
        taken = inbox.accept.within(sql, letter, now=now).message.id
        run = NewRun(id=f"run of {name}", session_id=name, session_key=key, agent_id="main")
        runs.begin.within(sql, run, now=now, claim=[taken])


def recover(file: str) -> None:
    """What a boot does with the store before anything else begins."""
    trio.run(_recover, Path(file))


async def _recover(file: Path) -> None:
    async with open_store(file) as store:
        left = await store.read(recovery.orphans())
        async with trio.open_nursery() as nursery:
            for orphan in left:
                ending: Write[recovery.Recovered] = recovery.end_orphan(orphan.run.id, now=time())
                nursery.start_soon(store.write, ending)
        await store.write(recovery.doubt(now=time()))
        tell(orphans=len(left))
