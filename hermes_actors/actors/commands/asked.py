"""What a command is carried out with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar, cast

import msgspec
import trio

from hermes_actors.actors.house import House
from hermes_actors.actors.receipts import Address, Said
from hermes_actors.actors.signals import Between, Look, StopRun, Wake
from hermes_actors.actors.taking import Manners
from hermes_actors.errors import Overloaded
from hermes_actors.hooks.contributions import PluginCommand
from hermes_actors.pure.commands import Command, CommandTable
from hermes_actors.pure.endings import Stopped
from hermes_actors.runtime import Registry
from hermes_actors.runtime.ref import Ref
from hermes_actors.store import bindings, sessions
from hermes_actors.store.sessions import Session
from hermes_actors.values import Inbound, Source

T = TypeVar("T")
SEEN_THROUGH = 30.0
NO_TALK_YET = "Nothing has been said here yet."


class Office(msgspec.Struct, frozen=True, kw_only=True):
    """What all commands share: the services, the conversations, and which commands there are."""

    house: House
    sessions: Registry[Wake]
    table: CommandTable
    plugins: Mapping[str, PluginCommand] = {}
    manners: Manners = Manners()


class Asked(msgspec.Struct, frozen=True):
    """One command, from one person, about one conversation."""

    office: Office
    command: Command
    address: Address
    inbound: Inbound

    @property
    def house(self) -> House:
        """The services."""
        return self.office.house

    @property
    def key(self) -> str:
        """The conversation."""
        return self.address.session_key

    @property
    def argument(self) -> str:
        """What follows the command's name."""
        return self.command.argument

    @property
    def source(self) -> Source:
        """Who asks, and from where."""
        return self.inbound.source

    @property
    def ref(self) -> Ref[Wake]:
        """The conversation, to talk to."""
        return self.office.sessions.ref(self.key)

    def look(self) -> Look:
        """How the conversation is, at this moment."""
        look = Look()
        self.ref.signal(look)
        return look

    async def session(self, key: str | None = None) -> Session | None:
        """The stored conversation behind the chat, or a key; None before the first message."""
        bound = await self.house.store.read(bindings.find(key or self.key))
        return (
            None if bound is None else await self.house.store.read(sessions.get(bound.session_id))
        )

    async def between(self, do: Callable[[], Awaitable[T]]) -> T:
        """Have this done while no turn runs. `Busy`: one does."""
        return cast("T", await self.ref.ask(Between(do)))

    async def instead(self, do: Callable[[], Awaitable[T]], cuts: Stopped) -> T:
        """Stop what runs, in this very step, and have this done in its place.

        Whoever asks may leave meanwhile: what was stopped for this is not left without it.
        """
        self.ref.signal(StopRun(cuts))
        with trio.move_on_after(SEEN_THROUGH, shield=True):
            return cast("T", await self.ref.ask(Between(do, cuts)))
        raise Overloaded("the run could not be ended in time, so nothing was changed")


Answer = str | Said
Act = Callable[[Asked], Awaitable[Answer]]


def counted(number: int, what: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number} {what}{'' if number == 1 else 's'}"
