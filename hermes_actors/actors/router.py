"""The one door for messages: every surface hands its messages in here, and nowhere else.

It finds the agent and the conversation, lets control words act at once, and makes everything else
durable before it says that it has it. What it returns is what the surface may tell its sender.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from hermes_actors.actors.house import House
from hermes_actors.actors.keeping import BusyMode, Keeper
from hermes_actors.actors.receipts import Address as Address
from hermes_actors.actors.receipts import Answered as Answered
from hermes_actors.actors.receipts import Ignored as Ignored
from hermes_actors.actors.receipts import Kept as Kept
from hermes_actors.actors.receipts import Receipt as Receipt
from hermes_actors.actors.receipts import Said as Said
from hermes_actors.actors.signals import Look, Wake
from hermes_actors.actors.taking import Task, Work
from hermes_actors.hooks.events import SelectAgent
from hermes_actors.pure.approval_words import Verdict, one_word
from hermes_actors.pure.commands import Command, CommandTable, ForAnother, Misused, Unknown
from hermes_actors.pure.routing import Route, route
from hermes_actors.pure.session_keys import Grouping, session_key
from hermes_actors.runtime import Registry
from hermes_actors.values import Inbound, Source

_ERRANDS: Mapping[str, Task] = {"retry": "retry", "compress": "compress"}

Act = Callable[[Command, Address, Inbound], Awaitable[str | Said]]
Word = Callable[[Verdict, Address, Inbound], Awaitable[str | None]]
Busy = Callable[[Source], BusyMode]


def always(mode: BusyMode) -> Busy:
    """The same in every chat."""
    return lambda source: mode


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
        busy: Busy | None = None,
        word: Word | None = None,
    ) -> None:
        self._house, self._sessions, self._commands, self._act = house, sessions, commands, act
        self._routes, self._default = routes, default_agent
        self._grouping = grouping or Grouping()
        self._keeper = Keeper(house, sessions, grouping, room)
        self._busy, self._word = busy or always("queue"), word

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
            case Command(name="steer" | "queue"):
                mode: BusyMode = "steer" if read.name == "steer" else "queue"
                work = _work(inbound, read.argument, "queue")
                return await self._keeper.keep(address, work, mode)
            case Command() if read.is_control(busy=self._is_busy(address)):
                return await self._obey(read, address, inbound)
            case Command():
                errand = _work(inbound, read.argument, _ERRANDS[read.name])
                return await self._keeper.keep(address, errand)
        answered = await self._answered(address, inbound)
        if answered is not None:
            return Answered(address.session_key, answered)
        return await self._keeper.keep(address, _work(inbound), self._busy(inbound.source))

    async def _answered(self, address: Address, inbound: Inbound) -> str | None:
        """While the agent waits for a yes or a no, one word is an answer; else it is a message."""
        verdict = one_word(inbound.text)
        if verdict is None or self._word is None or not self._is_busy(address):
            return None
        return await self._word(verdict, address, inbound)

    async def _obey(self, command: Command, address: Address, inbound: Inbound) -> Answered:
        said = await self._act(command, address, inbound)
        if isinstance(said, str):
            return Answered(address.session_key, said)
        return Answered(address.session_key, said.text, said.run)

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
        return look.busy


def _work(inbound: Inbound, text: str | None = None, task: Task = "") -> Work:
    given = {name: getattr(inbound, name) for name in inbound.__struct_fields__}
    return Work(**{**given, "text": inbound.text if text is None else text, "task": task})
