"""Commands that change the conversation itself: a new one, a step back, a title."""

from __future__ import annotations

from hermes_actors.actors.commands.asked import NO_TALK_YET, Asked, counted
from hermes_actors.actors.renewal import Renewed, renew
from hermes_actors.actors.taking import new_session
from hermes_actors.errors import StoreRefused
from hermes_actors.pure.commands import undo_count
from hermes_actors.store import bindings, inbox, revisions, sessions
from hermes_actors.store.revisions import Rewound

_BEGINNING = 60


async def new(asked: Asked) -> str:
    """Stop what runs, close this conversation and start another. What is queued is answered there.

    A title that is taken is refused before anything is stopped.
    """
    title = asked.argument or None
    if title is not None and await asked.house.store.read(sessions.titled(title)) is not None:
        raise StoreRefused("exists", f"another conversation has the title '{title}'")

    async def start_over() -> Renewed:
        fresh = new_session(asked.house, asked.key, asked.address.agent_id, asked.source)
        return await renew(asked.house, fresh, "new_session", title=title)

    renewed = await asked.instead(start_over, "new_session")
    waiting = len(await asked.house.store.read(inbox.queued(asked.key)))
    return _welcome(renewed, waiting)


def _welcome(renewed: Renewed, waiting: int) -> str:
    named = f": {renewed.session.title}" if renewed.session.title else ""
    words = [f"This is a new conversation{named}."]
    if renewed.before is not None and renewed.before.message_count:
        words.append("/resume brings the earlier one back.")
    if waiting:
        words.append(f"Queued messages that are answered here: {waiting}.")
    return " ".join(words)


async def undo(asked: Asked) -> str:
    """Take back the last messages and their answers."""
    turns = undo_count(asked.command)
    if turns is None:
        return "Write it like this: /undo, or /undo 3 for the last three messages."
    wanted = turns

    async def take_back() -> Rewound | None:
        session = await asked.session()
        if session is None:
            return None
        now = asked.house.now()
        return await asked.house.store.write(revisions.rewind(session.id, wanted, now=now))

    gone = await asked.between(take_back)
    if gone is None or not gone.turns:
        return "There is nothing to take back."
    beginning = " ".join((gone.text or "").split())[:_BEGINNING]
    what = counted(gone.turns, "message")
    return f"Taken back: {what} with all that followed, from “{beginning}” on."


async def title(asked: Asked) -> str:
    """Show the title, or set it."""
    house = asked.house
    if not asked.argument:
        session = await asked.session()
        if session is None:
            return NO_TALK_YET
        return f"Title: {session.title}" if session.title else "This conversation has no title."
    fresh = new_session(house, asked.key, asked.address.agent_id, asked.source)
    here = await house.store.write(bindings.open_session(fresh, now=house.now()))
    named = await house.store.write(
        sessions.entitle(here.session.id, asked.argument, now=house.now())
    )
    return f"Title: {named.title}"
