"""The one door for messages: every surface hands its messages in here, and nowhere else.

It finds the agent and the conversation, lets control words act at once, and makes everything else
durable before it says that it has it. What it returns is what the surface may tell its sender.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec
import trio

from hermes_actors.actors.house import House
from hermes_actors.actors.session import Look, Wake
from hermes_actors.errors import Refusal, StoreRefused
from hermes_actors.hooks.events import PreGatewayDispatch, SelectAgent
from hermes_actors.pure.commands import Command, CommandTable, ForAnother, Misused, Unknown
from hermes_actors.pure.routing import Route, route
from hermes_actors.pure.session_keys import Grouping, session_key
from hermes_actors.runtime import Registry
from hermes_actors.store import inbox
from hermes_actors.store.inbox import NewInbox
from hermes_actors.values import Inbound

ACCEPT_WITHIN = 10.0


class Kept(msgspec.Struct, frozen=True):
    """The message is committed and will be answered. `again`: it was here before."""

    session_key: str
    agent_id: str
    again: bool = False


class Answered(msgspec.Struct, frozen=True):
    """No run is needed: these are the words for the sender."""

    session_key: str
    text: str


class Ignored(msgspec.Struct, frozen=True):
    """Not for us, or a policy said no; nothing was kept."""

    reason: str


Receipt = Kept | Answered | Ignored


class Address(msgspec.Struct, frozen=True):
    """Where a message belongs."""

    session_key: str
    agent_id: str


Act = Callable[[Command, Address, Inbound], Awaitable[str]]


class Router:
    """Addresses messages. It remembers nothing, so there is nothing to lose in it."""

    def __init__(
        self,
        house: House,
        sessions: Registry[Wake],
        commands: CommandTable,
        act: Act,
        *,
        routes: Sequence[Route] = (),
        default_agent: str = "main",
        grouping: Grouping | None = None,
        room: int = 1000,
    ) -> None:
        self._house, self._sessions, self._commands, self._act = house, sessions, commands, act
        self._routes, self._default, self._grouping = routes, default_agent, grouping
        self._room = room

    async def receive(self, inbound: Inbound) -> Receipt:
        """Take one message. `StoreRefused`: it was not kept, and the text says why.

        Cancelling is safe: a platform that is not told that we have a message sends it again,
        and the same key is the same message.
        """
        address = await self.address(inbound)
        read = self._commands.read(inbound.text)
        match read:
            case ForAnother(bot):
                return Ignored(f"for {bot}")
            case Unknown(words=words) | Misused(words=words):
                return Answered(address.session_key, words)
            case Command() if read.is_control(busy=self._is_busy(address)):
                return Answered(address.session_key, await self._act(read, address, inbound))
        return await self._keep(address, inbound)

    async def address(self, inbound: Inbound) -> Address:
        """The agent and the conversation of a message.

        A hook's choice comes first, then the agent that was asked for, a route, the default.
        """
        source = inbound.source
        choice = await self._house.bus.select(
            SelectAgent(
                platform=source.platform,
                chat_id=source.chat_id,
                user_id=source.user_id or "",
                text=inbound.text,
                thread_id=source.thread_id or "",
                guild_id=source.scope_id or "",
                chat_type=source.chat_type,
            )
        )
        agent = choice or inbound.agent or route(source, self._routes, self._default)
        return Address(session_key(source, agent, self._grouping), agent)

    def _is_busy(self, address: Address) -> bool:
        look = Look()
        self._sessions.ref(address.session_key).signal(look)
        return look.state in ("running", "stopping")

    async def _keep(self, address: Address, inbound: Inbound) -> Receipt:
        allowed = await self._allowed(address, inbound)
        if isinstance(allowed, Ignored):
            return allowed
        new = NewInbox(
            key=inbound.key,
            session_key=address.session_key,
            agent_id=address.agent_id,
            platform=inbound.source.platform,
            payload=msgspec.json.encode(allowed).decode(),
            digest=inbound.digest,
        )
        # Shielded: what is committed must also be woken, whoever stops waiting meanwhile.
        with trio.move_on_after(ACCEPT_WITHIN, shield=True):
            return await self._commit(address, new)
        raise StoreRefused("busy", "The store did not answer in time; send it again in a moment.")

    async def _commit(self, address: Address, new: NewInbox) -> Kept:
        house = self._house
        accepted = await house.store.write(inbox.accept(new, now=house.now(), room=self._room))
        if accepted.fresh:
            house.journal.note("inbound.accepted", key=new.key, session=address.session_key)
        self._wake(address)
        return Kept(address.session_key, address.agent_id, again=not accepted.fresh)

    async def _allowed(self, address: Address, inbound: Inbound) -> Inbound | Ignored:
        source = inbound.source
        decision = await self._house.bus.decide(
            PreGatewayDispatch(
                platform=source.platform,
                chat_id=source.chat_id,
                user_id=source.user_id or "",
                text=inbound.text,
                session_key=address.session_key,
                agent_id=address.agent_id,
                message_id=inbound.message_id or "",
                thread_id=source.thread_id or "",
                chat_type=source.chat_type,
                user_name=source.user_name or "",
            )
        )
        if decision.action == "rewrite":
            return msgspec.structs.replace(inbound, text=decision.text)
        return inbound if decision.allowed else Ignored(decision.message or "skipped by a policy")

    def _wake(self, address: Address) -> None:
        try:
            self._sessions.ref(address.session_key).tell(Wake())
        except Refusal as no:
            # It is committed. A full lane holds other wakes already, and a session that cannot
            # live now finds it when it can.
            self._house.journal.note(
                "session.not_woken", session=address.session_key, reason=str(no)
            )
