"""A chat platform in memory: what people would see, and everything that was asked of it."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Final, Literal

import msgspec
import trio
from msgspec import structs

from hermes_actors.journal import Journal
from hermes_actors.testing.script import Hang, Pause
from hermes_actors.values import (
    Capabilities,
    Delivered,
    Inbound,
    NotSent,
    Outbound,
    Sent,
    Source,
    Unsure,
)


class Fine(msgspec.Struct, frozen=True):
    """The platform does what it is asked: what it also does once the script is used up."""


class LostAnswer(msgspec.Struct, frozen=True):
    """The words become visible, and the caller hears `Unsure`."""


FINE: Final = Fine()
LOST_ANSWER: Final = LostAnswer()

Answer = Fine | LostAnswer | NotSent | Unsure | Pause | Hang | Exception
ANSWERS: Final = Answer.__args__


class Shown(msgspec.Struct):
    """A message as people see it now. `edits` counts how often its words were replaced."""

    id: str
    words: Outbound
    edits: int = 0


class Asked(msgspec.Struct):
    """One thing that was asked of the platform, when, and what it answered, if it did."""

    what: Literal["send", "edit", "typing", "thread"]
    chat: str
    text: str
    at: float
    answer: Delivered | None = None


class FakePlatform:
    """Shows, edits and refuses messages as its capabilities and its script say.

    Words become visible between two checkpoints: a caller that is cancelled at the first has
    shown nothing, and one that is cancelled at the second cannot know that it has. `pace` is how
    many seconds must lie between two messages in a chat. A call that comes too early, or in the
    `retry_after` of a refusal, is `rate_limited`; one that comes although its caller was told is
    kept in `impatient` as well. It notes `platform.sent` and `typing.sent` in the journal, as
    an adapter in its place would.
    """

    def __init__(
        self,
        name: str = "fake",
        *,
        capabilities: Capabilities | None = None,
        length: Callable[[str], int] = len,
        delay: float = 0.0,
        pace: float = 0.0,
        journal: Journal | None = None,
    ) -> None:
        self.name = name
        self.capabilities = capabilities or Capabilities(supports_threads=True)
        self.opens_threads = True
        self.asked: list[Asked] = []
        self.impatient: list[Asked] = []
        self._length, self._delay, self._pace = length, delay, pace
        self._journal = journal or Journal(remember=0)
        self._script: deque[Answer] = deque()
        self._chats: dict[str, list[Shown]] = defaultdict(list)
        self._by_row: dict[str, Shown] = {}
        self._closed_until: dict[str, float] = {}
        self._told: set[str] = set()
        self._numbers = itertools.count(1)

    # What a test says and sees ---------------------------------------------------------------

    def script(self, *answers: Answer) -> None:
        """What the next calls of `send` and `edit` come to, one each; `FINE` leaves one alone."""
        for answer in answers:
            if not isinstance(answer, ANSWERS):
                raise TypeError(f"a platform cannot answer {answer!r}")
        self._script.extend(answers)

    def inbound(
        self, text: str, chat: str = "1", *, user: str = "someone", thread: str | None = None
    ) -> Inbound:
        """A person writes this: a message with a key of its own, to be handed to your code."""
        number = next(self._numbers)
        source = Source(self.name, chat, user_id=user, thread_id=thread)
        if thread is not None:
            source = structs.replace(source, chat_type="thread")
        return Inbound(
            source, key=f"{self.name}:{chat}:{number}", text=text, message_id=f"{number}"
        )

    def visible(self, chat: str | Source = "1") -> list[str]:
        """What people read in this chat now, oldest first. A thread is `"chat/thread"`."""
        return [shown.words.text for shown in self.shown(chat)]

    def shown(self, chat: str | Source = "1") -> list[Shown]:
        """The messages behind `visible`, with all that is known of them."""
        return list(self._chats.get(chat if isinstance(chat, str) else chat_of(chat), ()))

    # What the core asks ----------------------------------------------------------------------

    def length(self, text: str) -> int:
        """How long `text` is, in the unit of `capabilities.max_length`."""
        return self._length(text)

    async def send(self, message: Outbound) -> Delivered:
        """Show a new message, or the one that its outbox row has already become."""
        return await self._ask("send", message, lambda: self._send(message))

    async def edit(self, message_id: str, message: Outbound) -> Delivered:
        """Replace the words of a message that was shown in this chat."""
        return await self._ask("edit", message, lambda: self._edit(message_id, message))

    async def typing(self, to: Source, run: str) -> None:
        """Show the sign, and note for which run."""
        await trio.lowlevel.checkpoint()
        self.asked.append(Asked("typing", chat_of(to), "", trio.current_time()))
        self._journal.note("typing.sent", run=run)

    async def create_handoff_thread(self, parent: Source, name: str) -> Source | None:
        """A thread, unless the capabilities or `opens_threads` say no."""
        await trio.lowlevel.checkpoint()
        self.asked.append(Asked("thread", chat_of(parent), name, trio.current_time()))
        if not (self.capabilities.supports_threads and self.opens_threads):
            return None
        thread = f"t{next(self._numbers)}"
        return structs.replace(parent, chat_type="thread", thread_id=thread)

    # -----------------------------------------------------------------------------------------

    async def _ask(
        self, what: Literal["send", "edit"], message: Outbound, do: Callable[[], Delivered]
    ) -> Delivered:
        asked = Asked(what, chat_of(message.to), message.text, trio.current_time())
        self.asked.append(asked)
        asked.answer = self._too_early(asked)
        if asked.answer is None:
            planned = self._script.popleft() if self._script else FINE
            await self._wait(planned)
            asked.answer = _answer(planned, do)
            self._mind_the_pace(asked.chat, asked.answer)
        await trio.lowlevel.checkpoint()
        return asked.answer

    async def _wait(self, planned: Answer) -> None:
        if isinstance(planned, Hang):
            await trio.sleep_forever()
        await trio.sleep(planned.seconds if isinstance(planned, Pause) else self._delay)

    def _too_early(self, asked: Asked) -> NotSent | None:
        left = self._closed_until.get(asked.chat, asked.at) - asked.at
        if left <= 0:
            self._told.discard(asked.chat)
            return None
        if asked.chat in self._told:
            self.impatient.append(asked)
        self._told.add(asked.chat)
        return NotSent("rate_limited", "too early", left)

    def _mind_the_pace(self, chat: str, answer: Delivered) -> None:
        pause = self._pace
        if isinstance(answer, NotSent):
            pause = answer.retry_after or 0.0
            self._told.add(chat)
        self._closed_until[chat] = trio.current_time() + pause

    def _send(self, message: Outbound) -> Delivered:
        if (no := self._objection(message)) is not None:
            return no
        before = self._by_row.get(message.outbox or "")
        if before is not None and self.capabilities.takes_idempotency_key:
            return Sent(before.id)
        shown = Shown(f"m{next(self._numbers)}", message)
        self._chats[chat_of(message.to)].append(shown)
        if message.outbox is not None:
            self._by_row[message.outbox] = shown
        self._note(message)
        return Sent(shown.id)

    def _edit(self, message_id: str, message: Outbound) -> Delivered:
        if not self.capabilities.supports_edit:
            return NotSent("forbidden", "this platform cannot edit")
        if (no := self._objection(message)) is not None:
            return no
        for shown in self._chats.get(chat_of(message.to), ()):
            if shown.id == message_id:
                shown.words, shown.edits = message, shown.edits + 1
                self._note(message)
                return Sent(message_id)
        return NotSent("not_found", f"there is no message '{message_id}' in this chat")

    def _objection(self, message: Outbound) -> NotSent | None:
        if not message.text:
            return NotSent("bad_format", "a message has words")
        length, most = self.length(message.text), self.capabilities.max_length
        return NotSent("too_long", f"{length} of {most}") if length > most else None

    def _note(self, message: Outbound) -> None:
        said_by = message.run if not message.final else None
        about = {"outbox": message.outbox, "run": said_by}
        self._journal.note(
            "platform.sent",
            chat=chat_of(message.to),
            **{name: value for name, value in about.items() if value is not None},
        )


def _answer(planned: Answer, do: Callable[[], Delivered]) -> Delivered:
    if isinstance(planned, Exception):
        raise planned
    if isinstance(planned, NotSent | Unsure):
        return planned
    answer = do()
    lost = isinstance(planned, LostAnswer) and isinstance(answer, Sent)
    return Unsure("the answer was lost") if lost else answer


def chat_of(source: Source) -> str:
    """The name under which a chat is kept: its id, and that of the thread if there is one."""
    return source.chat_id if source.thread_id is None else f"{source.chat_id}/{source.thread_id}"
