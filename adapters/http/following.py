"""One run on its way through the gateway, as seen by a response that shows it.

The run lives in its session and not here: a response that is cut off loses a reader of the feed
and nothing else. What the feed cannot tell (a message was withdrawn while it waited, a session has
crashed and the end was written by another) is looked up in the store when it has been quiet.
"""

from __future__ import annotations

import msgspec
import trio

from adapters.http.answers import Complaint
from hermes_actors.actors.feed import Numbered
from hermes_actors.actors.services import Services
from hermes_actors.actors.session import Look
from hermes_actors.happenings import RunBegan, RunEnded, Seen, Words
from hermes_actors.store import inbox, messages, runs
from hermes_actors.store.messages import Message
from hermes_actors.store.runs import Run
from hermes_actors.store.states import InboxState, RunState

LOOK_EVERY = 5.0
_WAITS_OR_SERVED = (InboxState.QUEUED, InboxState.CLAIMED)


class Batch(msgspec.Struct, frozen=True):
    """What has happened since the last look."""

    items: tuple[Numbered, ...] = ()

    @property
    def seen(self) -> tuple[Seen, ...]:
        """The happenings without their places."""
        return tuple(each.what for each in self.items)

    @property
    def place(self) -> str | None:
        """The place of the last one, as readers are told it; None: it is not from the feed."""
        return place_of(self.items[-1]) if self.items else None

    @property
    def end(self) -> RunEnded | None:
        """The end of the run, if it is in here."""
        last = self.items[-1].what if self.items else None
        return last if isinstance(last, RunEnded) else None


class Following:
    """Reads the run that answers the message `key`, or the run `run`.

    Made in the same step in which the message was taken, it misses nothing. `after` is where an
    earlier reader has stopped; `known` says that the message is not new, so the run may be over.
    `over` is True when there is nothing more to show.
    """

    def __init__(
        self,
        services: Services,
        session_key: str,
        *,
        key: str = "",
        run: str | None = None,
        after: int | None = None,
        known: bool = False,
    ) -> None:
        self._services, self.session_key = services, session_key
        self.key, self.run, self.shared, self.over = key, run, False, False
        feed = services.house.feeds.of(session_key)
        begins = feed.beginning(run or key)
        self._must_look = begins is None and (known or run is not None)
        self._missed: Batch | None = None
        self._heard = after is not None
        place = begins if after is None or begins is None else max(begins, after)
        self._reader = feed.subscribe(after=place)

    async def begin(self) -> str:
        """Wait until a run has the message in hand; its id. Cancelling is safe."""
        while self.run is None or self._must_look:
            if self._must_look:
                await self._look()
                self._must_look = False
                continue
            with trio.move_on_after(LOOK_EVERY) as quiet:
                self._notice(await self._next())
            self._must_look = quiet.cancelled_caught
        return self.run

    async def next(self) -> Batch:
        """What happens next in the run; the last of it is its end. Cancelling is safe."""
        await self.begin()
        while self._missed is None:
            with trio.move_on_after(LOOK_EVERY) as quiet:
                batch = await self._more()
                if batch.items:
                    return self._told(batch)
            if quiet.cancelled_caught:
                await self._look()
        return self._told(self._missed)

    def close(self) -> None:
        """Look no longer."""
        self._reader.close()
        if self._services.sessions.peek(self.session_key) is None:
            self._services.house.feeds.release(self.session_key)  # nobody else would

    # The feed ----------------------------------------------------------------------------------

    async def _more(self) -> Batch:
        numbered = [await self._next(), *self._reader.take_waiting()]
        return Batch(tuple(each for each in numbered if each.what.run == self.run))

    async def _next(self) -> Numbered:
        try:
            return await anext(self._reader)
        except StopAsyncIteration:
            raise Complaint(503, "gateway_draining", "The gateway is going down.") from None

    def _notice(self, numbered: Numbered) -> None:
        what = numbered.what
        if isinstance(what, RunBegan) and self.key in what.keys:
            self.run, self.shared = what.run, len(what.keys) > 1

    def _told(self, batch: Batch) -> Batch:
        self._heard = self._heard or any(isinstance(each, Words) for each in batch.seen)
        self.over = batch.end is not None
        return batch

    # The store ---------------------------------------------------------------------------------

    async def _look(self) -> None:
        store = self._services.house.store
        if self.run is None:
            row = await store.read(inbox.find(self.key))
            if row is None or (row.run_id is None and row.state not in _WAITS_OR_SERVED):
                raise Complaint(
                    409, "message_withdrawn", "The message was taken back; send it again."
                )
            if self.run is None:
                self.run = row.run_id
        if self.run is not None and (run := await store.read(runs.find(self.run))) is not None:
            said = await store.read(messages.of_run(run.id))
            if run.state is not RunState.RUNNING and not self._lives(run.id):
                self._missed = ended(run, said, heard=self._heard)

    def _lives(self, run: str) -> bool:
        """Whether its end is still to come on the feed, or has come and was not read yet."""
        look = Look()
        self._services.sessions.ref(self.session_key).signal(look)
        return look.run_id == run or self._reader.has_waiting


def place_of(numbered: Numbered) -> str | None:
    """Where a reader is after this; what came from the store has no place in the feed."""
    return f"{numbered.what.run}/{numbered.number}" if numbered.number else None


def ended(run: Run, said: list[Message], *, heard: bool = False) -> Batch:
    """A run that is over, from what was stored of it: words that were not heard, its end."""
    answers = [line.content or "" for line in said if line.role == "assistant"]
    last = answers[-1] if answers else ""
    words = "\n\n".join(filter(None, answers))
    if heard:
        words = "" if run.state is RunState.COMPLETED else f"\n\n{last}"
    end = RunEnded(run.id, run.state.value, run.reason or "", last)
    said_now = (Numbered(0, Words(run.id, words)),) if words.strip() else ()
    return Batch((*said_now, Numbered(0, end)))
