"""What a run is given to do, found out from the messages it will answer before it has them in hand.

Most messages are words for the agent. `/compress` and `/retry` are runs as well, with their own way
of being driven and of beginning; in the transcript they are not words of the person.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from hermes_actors.actors.errands import compress, nothing_to_retry
from hermes_actors.actors.house import Agent, House
from hermes_actors.actors.renewal import opened
from hermes_actors.actors.retrying import begin_again, last_words
from hermes_actors.actors.taking import Manners, Work, new_session, spoken, work_of
from hermes_actors.actors.turn import Order, Turn
from hermes_actors.store import runs
from hermes_actors.store.inbox import InboxMessage
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.operation import Write, Writing
from hermes_actors.store.runs import NewRun, Run
from hermes_actors.store.sessions import Session

Drive = Callable[[Turn], Awaitable[None]]


class Assignment(msgspec.Struct, frozen=True):
    """What is to be done, who does it, and the write that takes the messages in hand."""

    order: Order
    drive: Drive
    begin: Write[Run]
    last: Work


class _Meant(msgspec.Struct, frozen=True):
    """What the messages ask for. `line` is how the transcript tells it."""

    words: str
    drive: Drive
    line: NewMessage
    begin: Writing[..., Run] = runs.begin


async def assigned(
    house: House, key: str, batch: Sequence[InboxMessage], drive: Drive, manners: Manners
) -> Assignment:
    """Open the conversation and find out what is asked. A `Refusal`: nobody here can do it."""
    said = [work_of(message) for message in batch]
    last = said[-1]
    new = new_session(house, key, batch[0].agent_id, last.source)
    house.agent(new.agent_id)  # refuses before anything is made for it
    session = (await opened(house, new, last.source, manners)).session
    meant = await _meant(house, session, said, drive, manners)
    order = _order(house, session, batch, last, meant.words)
    line = msgspec.structs.replace(meant.line, platform_message_id=last.message_id)
    ids = [each.id for each in batch]
    begin = meant.begin(_new_run(order), now=house.now(), claim=ids, said=[line])
    return Assignment(order, meant.drive, begin, last)


async def _meant(
    house: House, session: Session, said: Sequence[Work], drive: Drive, manners: Manners
) -> _Meant:
    last = said[-1]
    match last.task:
        case "compress":
            line = NewMessage(role="meta", content=f"/compress {last.text}".strip())
            return _Meant(last.text, compress, line)
        case "retry":
            return _retry(await house.store.read(last_words(session.id)), drive)
    words = spoken(said, manners.grouping)
    return _Meant(words, drive, NewMessage(role="user", content=words))


def _retry(earlier: str | None, drive: Drive) -> _Meant:
    if earlier is None:
        return _Meant("", nothing_to_retry, NewMessage(role="meta", content="/retry"))
    return _Meant(earlier, drive, NewMessage(role="user", content=earlier), begin_again)


def _order(
    house: House, session: Session, batch: Sequence[InboxMessage], last: Work, words: str
) -> Order:
    return Order(
        run_id=house.new_id("run"),
        session_id=session.id,
        session_key=batch[0].session_key,
        agent=_chosen(house.agent(session.agent_id), session),
        source=last.source,
        text=words,
        keys=tuple(each.key for each in batch),
        is_first=session.message_count == 0,
    )


def _new_run(order: Order) -> NewRun:
    return NewRun(
        id=order.run_id,
        session_id=order.session_id,
        session_key=order.session_key,
        agent_id=order.agent.id,
        platform=order.source.platform,
    )


def _chosen(agent: Agent, session: Session) -> Agent:
    """The agent with the model that was chosen for this conversation, if one was."""
    if session.model_override is None:
        return agent
    name: str = msgspec.json.decode(session.model_override, type=str)
    return msgspec.structs.replace(agent, model_name=name)
