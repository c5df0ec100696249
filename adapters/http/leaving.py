"""What becomes of a run when the client that asked for it is gone.

`stop`: nobody will read the answer, so nobody works on it. `detach`: the run goes on, and its
events can be read again. A message that no run has in hand yet is taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

import trio

from adapters.http.following import Following
from adapters.http.open_streams import OpenStreams
from hermes_actors.actors.services import Services
from hermes_actors.actors.session import StopRun
from hermes_actors.errors import Refusal, StoreRefused
from hermes_actors.hooks.events import MessageWithdrawn
from hermes_actors.store import inbox
from hermes_actors.store.inbox import InboxMessage

WITHIN = 5.0
REASON: Final = "client_disconnected"
OnDisconnect = Literal["stop", "detach"]


class Leaving:
    """Knows how many responses show the same message; only the last one to leave matters."""

    def __init__(self, services: Services, policy: OnDisconnect, streams: OpenStreams) -> None:
        self._services, self._policy, self._streams = services, policy, streams
        self._watching: Counter[str] = Counter()

    @contextmanager
    def watching(self, following: Following) -> Iterator[None]:
        """While a response shows it."""
        self._watching[following.key] += 1
        try:
            with self._streams.hold(following):
                yield
        finally:
            self._watching[following.key] -= 1
            if not self._watching[following.key]:
                del self._watching[following.key]

    async def left(self, following: Following) -> None:
        """The client is gone. Call it while `watching`."""
        alone = self._watching[following.key] == 1 and not following.shared
        self._services.house.journal.note(
            "client.left", session=following.session_key, run=following.run or "", alone=alone
        )
        if self._policy == "stop" and alone and not following.over:
            with trio.move_on_after(WITHIN, shield=True):
                await self._stop(following)

    async def _stop(self, following: Following) -> None:
        if following.run is None:
            following.run = await self._take_back(following)
        if following.run is not None:
            wish = StopRun(REASON, run_id=following.run)
            self._services.sessions.ref(following.session_key).signal(wish)

    async def _take_back(self, following: Following) -> str | None:
        """End the message if it still waits; otherwise the run that has it."""
        house = self._services.house
        try:
            await house.store.write(inbox.reject(following.key, REASON, now=house.now()))
        except StoreRefused:
            row = await house.store.read(inbox.find(following.key))
            return None if row is None else row.run_id
        except Refusal:
            return None  # the store is going down, and everything else with it
        row = await house.store.read(inbox.find(following.key))
        if row is not None:
            await self._tell(row)
        return None

    async def _tell(self, row: InboxMessage) -> None:
        self._services.house.journal.note("inbound.ended", key=row.key, state="rejected")
        await self._services.house.bus.fire(
            MessageWithdrawn(
                session_key=row.session_key,
                platform=row.platform,
                agent_id=row.agent_id,
                message_id=row.key,
                reason=REASON,
            )
        )
