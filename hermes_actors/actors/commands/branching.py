"""`/branch`: the conversation is copied, and goes on in the copy."""

from __future__ import annotations

from hermes_actors.actors.commands.asked import Asked, counted
from hermes_actors.actors.taking import new_session
from hermes_actors.store import bindings, lineage
from hermes_actors.store.operation import writes
from hermes_actors.store.sessions import NewSession, Session
from hermes_actors.store.sql import Sql


async def branch(asked: Asked) -> str:
    """Copy every line and let the chat lead to the copy, in one transaction."""

    async def copy() -> Session | None:
        session = await asked.session()
        if session is None or not session.message_count:
            return None
        fresh = new_session(asked.house, asked.key, session.agent_id, asked.source)
        write = _branch_off(session.id, fresh, asked.argument or None, now=asked.house.now())
        return await asked.house.store.write(write)

    made = await asked.between(copy)
    if made is None:
        return "There is nothing to copy yet."
    named = f" “{made.title}”" if made.title else ""
    return (
        f"This is a copy{named} of the conversation, "
        f"{counted(made.message_count, 'message')} long. "
        "The original stays as it is; /resume brings it back."
    )


@writes
def _branch_off(
    sql: Sql, session_id: str, new: NewSession, title: str | None, *, now: float
) -> Session:
    made = lineage.branch.within(sql, session_id, new, now=now, title=title)
    bindings.switch.within(sql, new.session_key, made.id, now=now)
    return made
