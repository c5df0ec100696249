"""`/resume` and `/sessions`: earlier conversations of this very chat, and of nobody else.

A conversation belongs to the platform, chat, thread and person that it was held in. What belongs
to others cannot be told from what does not exist: both are "not here".
"""

from __future__ import annotations

import time

import msgspec

from hermes_actors.actors.commands.asked import Asked, counted
from hermes_actors.pure.session_keys import is_shared
from hermes_actors.store import bindings, lineage, sessions
from hermes_actors.store.sessions import Session
from hermes_actors.values import Source

MOST = 10


async def list_sessions(asked: Asked) -> str:
    """The latest conversations of this chat, numbered."""
    here = await asked.session()
    found = await _earlier(asked)
    if not found:
        return "There are no earlier conversations here."
    lines = [
        _line(number, session, session.id == (here and here.id))
        for number, session in enumerate(found, 1)
    ]
    return "\n".join([*lines, "/resume NUMBER goes back to one of them."])


async def resume(asked: Asked) -> str:
    """Go back to one of them."""
    if not asked.argument:
        return await list_sessions(asked)

    async def switch() -> str:
        target = await _find(asked)
        if target is None or not _owns(asked, target):
            return f"There is no conversation '{asked.argument}' here. /sessions lists them."
        here = await asked.session()
        if here is not None and here.id == target.id:
            return "You are in that conversation already."
        if await _elsewhere(asked, target):
            return "That conversation goes on in another place, so it cannot be resumed here."
        store, now = asked.house.store, asked.house.now()
        back = await store.write(bindings.switch(asked.key, target.id, now=now))
        return f"Back in {_name(back)}, {counted(back.message_count, 'message')} long."

    return await asked.between(switch)


async def _find(asked: Asked) -> Session | None:
    """By number in the list, by title, by id; of one that was continued, its newest heir."""
    store, wanted = asked.house.store, asked.argument
    if wanted.isascii() and wanted.isdigit() and len(wanted) < 4:
        found = await _earlier(asked)
        return found[int(wanted) - 1] if 0 < int(wanted) <= len(found) else None
    named = await store.read(sessions.titled(wanted)) or await store.read(sessions.find(wanted))
    return None if named is None else await store.read(lineage.tip(named.id))


async def _earlier(asked: Asked) -> list[Session]:
    found = await asked.house.store.read(sessions.latest(session_key=asked.key, limit=MOST * 2))
    return [each for each in found if each.message_count and _owns(asked, each)][:MOST]


def _owns(asked: Asked, session: Session) -> bool:
    """The same platform, chat, thread and person; a row that does not say so is not theirs."""
    try:
        origin = msgspec.json.decode(session.source, type=Source)
    except msgspec.DecodeError:
        return False
    shared = is_shared(asked.source, asked.office.manners.grouping)
    return session.session_key == asked.key and _whose(origin, shared) == _whose(
        asked.source, shared
    )


def _whose(source: Source, shared: bool) -> tuple[str | None, ...]:
    person = None if shared else source.user_id_alt or source.user_id
    return source.platform, source.chat_id, source.thread_id, person


async def _elsewhere(asked: Asked, session: Session) -> bool:
    leading = await asked.house.store.read(bindings.leading_to(session.id))
    return any(each.session_key != asked.key for each in leading)


def _line(number: int, session: Session, here: bool) -> str:
    day = time.strftime("%Y-%m-%d %H:%M", time.gmtime(session.updated_at))
    mark = " (this one)" if here else ""
    return (
        f"{number}. {_name(session)}, {counted(session.message_count, 'message')}, {day} UTC{mark}"
    )


def _name(session: Session) -> str:
    return f"“{session.title}”" if session.title else session.id
