"""`/background`: a run beside the conversation, in a conversation of its own.

Its key is the key of the chat with one more part, so it is found again, and its source is the
chat's, so its answer is delivered there. It knows nothing of what was said in the chat.
"""

from __future__ import annotations

from hermes_actors.actors.commands.asked import Asked
from hermes_actors.actors.keeping import Keeper
from hermes_actors.actors.receipts import Address, Answered, Kept, Receipt
from hermes_actors.actors.signals import Look
from hermes_actors.actors.taking import Work

MOST = 4
_MARK = ":background:"


async def background(asked: Asked) -> str:
    """Start a run of its own for these words; its answer is posted here."""
    if not asked.house.surface(asked.source.platform).supports_async_delivery:
        return "An answer that comes later cannot be delivered here. Ask it as a message instead."
    running = len(companions(asked))
    if running >= MOST:
        return f"{running} background runs are in progress, which is as many as there may be."
    number = asked.house.new_id("background")
    address = Address(f"{asked.key}{_MARK}{number}", asked.address.agent_id)
    work = Work(asked.source, asked.inbound.key, asked.argument)
    return _started(await Keeper(asked.house, asked.office.sessions).keep(address, work), number)


def _started(receipt: Receipt, number: str) -> str:
    match receipt:
        case Kept(again=True):
            return "That has been started in the background already."
        case Kept(text=text):
            words = f"Runs in the background as {number}; its answer is posted here."
            return f"{words} {text}".strip()
        case Answered(text=text):
            return text
    return f"Not started: {receipt.reason}."


def companions(asked: Asked) -> list[str]:
    """The background conversations of this chat in which something runs."""
    mine = [key for key in asked.office.sessions.live() if key.startswith(asked.key + _MARK)]
    return [key for key in mine if _runs(asked, key)]


def is_of(key: str, other: str) -> bool:
    """Is `other` this conversation, or one in its background?"""
    return other == key or other.startswith(key + _MARK)


def _runs(asked: Asked, key: str) -> bool:
    look = Look()
    asked.office.sessions.ref(key).signal(look)
    return look.busy
