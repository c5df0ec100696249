"""After a start: what the last process left in the middle is ended, and what waits is woken.

From then on it sends conversations that nobody has used for a while out of memory.
"""

from __future__ import annotations

from hermes_actors.actors.house import House
from hermes_actors.actors.orphans import bury_orphans
from hermes_actors.actors.session import Wake
from hermes_actors.actors.undeliverable import announce_dead
from hermes_actors.errors import Refusal
from hermes_actors.runtime import Actor, Registry
from hermes_actors.store import inbox, recovery


class Recovery(Actor[object]):
    """Does its work while it starts, so that whoever starts after it finds everything in order."""

    def __init__(self, house: House, sessions: Registry[Wake]) -> None:
        self._house, self._sessions = house, sessions

    async def started(self) -> None:
        """Sends under way become doubtful, orphaned runs end, waiting conversations wake."""
        house = self._house
        doubts = await house.store.write(recovery.doubt(now=house.now()))
        ended = await bury_orphans(house)
        await announce_dead(house)
        waiting = await house.store.read(inbox.waiting_sessions())
        for key in waiting:
            self._wake(key)
        self.spawn(self._sessions.unload_idle, name="unloading")
        house.journal.note(
            "gateway.recovered", runs=ended, sends=doubts.replies, waiting=len(waiting)
        )

    def _wake(self, key: str) -> None:
        try:
            self._sessions.ref(key).tell(Wake())
        except Refusal as no:
            self._house.journal.note("session.not_woken", session=key, reason=str(no))
