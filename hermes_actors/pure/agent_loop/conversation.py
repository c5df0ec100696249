"""The history of one run: what is stored of it, and what the model is shown.

The two differ only at the end. A reminder to the model, or the first half of an answer that was
cut, is shown and not stored; when the answer is whole, it is stored as one message.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hermes_actors.pure.agent_loop.events import Keep
from hermes_actors.pure.agent_loop.words import CONTINUE
from hermes_actors.pure.transcript.rules import encodable, is_encodable, texts
from hermes_actors.values import AssistantMessage, Message, UserMessage


class Conversation:
    """Grows by `keep`; `parts` are pieces of an answer that is not whole yet."""

    def __init__(self, history: Sequence[Message]) -> None:
        self.history = list(history)
        self.parts: list[str] = []

    def keep(self, message: Message) -> Keep:
        """Add a message for good, without characters that could not be sent."""
        if not all(map(is_encodable, texts(message))):
            message = _mended(message)
        self.history.append(message)
        return Keep(message)

    def shown(self, note: str = "") -> tuple[Message, ...]:
        """What the model reads next, with a note at the end if there is something to say."""
        if self.parts:
            said = AssistantMessage("".join(self.parts).strip())
            return *self.history, said, UserMessage(note or CONTINUE)
        if not note:
            return tuple(self.history)
        *earlier, last = self.history
        if isinstance(last, AssistantMessage):
            return *earlier, last, UserMessage(note)
        return *earlier, replace(last, text=f"{last.text}\n\n{note}")

    def whole(self, words: str = "") -> str:
        """The answer with all its pieces; the next one starts from nothing."""
        text = "".join((*self.parts, words)).strip()
        self.parts.clear()
        return text


def _mended(message: Message) -> Message:
    message = replace(message, text=encodable(message.text))
    if isinstance(message, AssistantMessage):
        return replace(message, reasoning=encodable(message.reasoning))
    return message
