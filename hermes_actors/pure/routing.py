"""Which agent answers: the first rule that fits, else the default. Every surface asks here."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_actors.values import Source


class Route(msgspec.Struct, frozen=True):
    """Messages that look like this go to `agent`. What is None fits everything."""

    agent: str
    platform: str | None = None
    chat_id: str | None = None
    user_id: str | None = None
    thread_id: str | None = None
    guild_id: str | None = None

    def fits(self, source: Source) -> bool:
        """Whether a message from there looks like this."""
        pairs = (
            (self.platform, source.platform),
            (self.chat_id, source.chat_id),
            (self.user_id, source.user_id),
            (self.thread_id, source.thread_id),
            (self.guild_id, source.scope_id),
        )
        return all(wanted is None or wanted == given for wanted, given in pairs)


def route(source: Source, routes: Sequence[Route], default: str) -> str:
    """The agent for a message from there."""
    return next((each.agent for each in routes if each.fits(source)), default)
