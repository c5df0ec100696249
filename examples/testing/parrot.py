"""A small agent: it asks a model, answers in the chat, and can be stopped at any moment."""

from __future__ import annotations

import itertools

import trio

from hermes_actors import Actor, Journal
from hermes_actors.ports import ModelClient, Platform
from hermes_actors.values import Inbound, ModelRequest, Outbound, Sent, UserMessage


class Parrot(Actor[Inbound]):
    """One message at a time. Whoever wrote is answered once: with a reply, or that it stopped."""

    def __init__(self, model: ModelClient, platform: Platform, journal: Journal) -> None:
        self._model, self._platform, self._journal = model, platform, journal
        self._numbers = itertools.count(1)

    async def receive(self, message: Inbound) -> None:
        """Think, then say it. The end of a run is recorded once, on every way out."""
        run = f"run-{next(self._numbers)}"
        reply: str | None = None
        self._journal.note("inbound.accepted", key=message.key)
        self._journal.note("run.started", run=run, session="parrot", agent="parrot")
        try:
            reply = await self._think(run, message)
        finally:
            # Outside of what a stop cancels, inside a shield, and not for ever.
            with trio.move_on_after(2, shield=True):
                await self._end(run, message, reply)

    async def _think(self, run: str, message: Inbound) -> str:
        await self._platform.typing(message.source, run)
        request = ModelRequest(run, "demo", (UserMessage(message.text),))
        return (await self._model.respond(request, lambda delta: None)).text

    async def _end(self, run: str, message: Inbound, reply: str | None) -> None:
        state, reason = ("completed", "ok") if reply is not None else ("stopped", "user_stop")
        hook = "agent_loop_completed" if reply is not None else "agent_loop_stopped"
        self._journal.note("outbox.committed", chat=message.source.chat_id, outbox=run)
        self._journal.note("run.ended", run=run, state=state, reason=reason)
        self._journal.note("hook.fired", run=run, hook=hook)
        words = Outbound(message.source, reply or "Stopped.", outbox=run)
        if isinstance(await self._platform.send(words), Sent):
            self._journal.note(
                "reply.sent",
                key=message.key,
                outbox=run,
                chat=message.source.chat_id,
                repeat=False,
            )
        ended = "answered" if reply is not None else "stopped"
        self._journal.note("inbound.ended", key=message.key, state=ended)
