"""How much a model has to read: an estimate that is cheap, and the size at which it gets too much.

Four bytes of UTF-8 are taken as one token. That is close for English and code, and too low for
nothing that people write: a Chinese character counts as three quarters of a token.
"""

from __future__ import annotations

from collections.abc import Iterable

from hermes_actors.values import AssistantMessage, Message

PER_MESSAGE = 4
FLOOR = 64_000
LARGE_WINDOW = 512_000


def estimate(messages: Iterable[Message]) -> int:
    """About how many tokens these messages are."""
    return sum(map(size, messages))


def size(message: Message) -> int:
    """About how many tokens one message is."""
    total = _bytes(message.text)
    if isinstance(message, AssistantMessage):
        total += sum(_bytes(call.name) + _bytes(call.arguments) for call in message.tool_calls)
    return PER_MESSAGE + -(-total // 4)


def threshold(context_length: int, max_output: int = 0) -> int:
    """The size at which a history is compacted: half of a large window, three quarters of others.

    Never below a floor that leaves room to work in; where the window is smaller than that floor,
    most of the window.
    """
    room = max(1, context_length - max_output)
    share = room // 2 if context_length >= LARGE_WINDOW else room * 3 // 4
    wanted = max(share, FLOOR)
    return wanted if wanted < room else max(1, room * 85 // 100)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
