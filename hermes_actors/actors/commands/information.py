"""Commands that tell something, and `/model`, which also sets it."""

from __future__ import annotations

import msgspec
import trio

from hermes_actors.actors.commands.asked import NO_TALK_YET, Asked, counted
from hermes_actors.actors.commands.background import companions
from hermes_actors.actors.signals import Look
from hermes_actors.actors.taking import new_session
from hermes_actors.store import approvals, bindings, inbox, sessions
from hermes_actors.store.sessions import Changes, Session

_LONGEST_MODEL = 200


async def status(asked: Asked) -> str:
    """What the conversation is doing, what waits, and what it is."""
    look, session = asked.look(), await asked.session()
    agent = asked.house.agent(asked.address.agent_id)
    waiting = len(await asked.house.store.read(inbox.queued(asked.key)))
    lines = [
        _doing(asked, look),
        f"Waiting: {waiting}" if waiting else "",
        *[f"In the background: {key.rpartition(':')[2]}" for key in companions(asked)],
        "" if session is None else await _questions(asked, session),
        _about(session),
        f"Agent: {agent.id}, model: {_model_of(session) or agent.model_name}",
    ]
    return "\n".join(filter(None, lines))


def _doing(asked: Asked, look: Look) -> str:
    if asked.key in asked.office.sessions.quarantined():
        return "Put aside after repeated crashes; the operator can let it go on."
    if look.run_id is None:
        return "Nothing is running." if look.state == "idle" else f"State: {look.state}."
    tools = f", tools: {', '.join(look.tools)}" if look.tools else ""
    return f"{look.state.capitalize()}: {look.run_id} ({look.phase}{tools})"


async def _questions(asked: Asked, session: Session) -> str:
    pending = await asked.house.store.read(approvals.pending(session.id))
    return f"Waiting for your answer: {len(pending)} (/approve or /deny)" if pending else ""


def _about(session: Session | None) -> str:
    if session is None:
        return NO_TALK_YET
    named = f" “{session.title}”" if session.title else ""
    return f"Conversation: {session.id}{named}, {counted(session.message_count, 'message')}"


async def explain(asked: Asked) -> str:
    """The commands, or all about one of them."""
    await trio.lowlevel.checkpoint()
    return asked.office.table.help(asked.argument)


async def usage(asked: Asked) -> str:
    """Tokens of this conversation, and what they cost where that is known."""
    session = await asked.session()
    if session is None:
        return NO_TALK_YET
    words = (
        f"This conversation has used {session.input_tokens} tokens in "
        f"({session.cached_tokens} of them cached) and {session.output_tokens} out "
        f"({session.reasoning_tokens} of them for thinking)."
    )
    cost = session.cost_micros / 1_000_000
    return f"{words} Cost: ${cost:.4f}." if session.cost_micros else words


async def model(asked: Asked) -> str:
    """Show the model of this conversation, or choose it; `default` goes back to the agent's own."""
    house, session = asked.house, await asked.session()
    own = house.agent(asked.address.agent_id).model_name
    if not asked.argument:
        return f"Model: {_model_of(session) or own}"
    chosen = asked.argument
    if len(chosen.split()) > 1 or len(chosen) > _LONGEST_MODEL:
        return "Write it like this: /model NAME, or /model default. A name has no spaces."
    if session is None:
        fresh = new_session(house, asked.key, asked.address.agent_id, asked.source)
        opened = await house.store.write(bindings.open_session(fresh, now=house.now()))
        session = opened.session
    override = None if chosen.lower() == "default" else msgspec.json.encode(chosen).decode()
    changes = Changes(model_override=override)
    changed = await house.store.write(sessions.amend(session.id, changes, now=house.now()))
    return f"Model from the next run on: {_model_of(changed) or own}"


def _model_of(session: Session | None) -> str | None:
    if session is None or session.model_override is None:
        return None
    return msgspec.json.decode(session.model_override, type=str)
