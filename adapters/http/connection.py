"""Work for a client, as long as the client is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from adapters.http.answers import Complaint
from adapters.http.front import Receive
from hermes_actors.errors import Refusal

Work = Callable[[], Awaitable[None]]


async def while_connected(receive: Receive, work: Work) -> bool:
    """Do the work, and cut it when the client goes; True: the client went first.

    A `Complaint` or a `Refusal` of the work is raised as it is, not in a group.
    """
    left, done, no = False, False, list[Complaint | Refusal]()

    async def watch() -> None:
        nonlocal left
        while (await receive())["type"] != "http.disconnect":
            pass
        left = not done  # who has the whole answer may go
        nursery.cancel_scope.cancel("the client has left")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        try:
            await work()
        except (Complaint, Refusal) as refused:
            no.append(refused)
        done = True
        nursery.cancel_scope.cancel("done")
    if no:
        raise no[0]
    return left
