"""One actor, alive for the length of a block, without a supervisor around it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import trio
import trio.testing

from hermes_actors.journal import Journal
from hermes_actors.runtime import Actor, Life, Mailbox, Ref

M = TypeVar("M")


@asynccontextmanager
async def living(actor: Actor[M], capacity: int = 1000) -> AsyncIterator[Ref[M]]:
    """Start it, wait until it waits for work, and stop it at the end."""
    box: Mailbox[M] = Mailbox("measured", capacity)
    ref = Ref("measured", box)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Life(actor, box, Journal()).run)
        await trio.testing.wait_all_tasks_blocked()
        yield ref
        ref.stop("measured")
