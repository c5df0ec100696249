"""Hands what happens in a session to everyone who looks, without ever waiting for anyone.

The feed numbers each happening and keeps the last ones, so that a reader who was away can go on
where it left off. A reader has a bounded buffer. If it is slow, waiting words are merged into one;
if it is slower still, it is dropped, and told the number after which it may come back. The one
who publishes does not notice any of this.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import msgspec
import trio

from hermes_actors.errors import Refusal
from hermes_actors.happenings import RunBegan, Seen, Words

_BASE_COST = 64


class TooSlow(Refusal):
    """The reader was dropped. Subscribe again with `after=cursor` to go on without a gap."""

    def __init__(self, cursor: int) -> None:
        super().__init__(f"dropped after number {cursor} because it did not keep up")
        self.cursor = cursor


class TooLate(Refusal):
    """What came after the given number is no longer kept."""


class Numbered(msgspec.Struct, frozen=True):
    """A happening and its place. Merged words have the number of the last of them."""

    number: int
    what: Seen


class Reader:
    """One who looks. `async for numbered in reader` ends when the feed or the reader is closed."""

    def __init__(self, feed: Feed, *, events: int, size: int) -> None:
        self._feed, self._most_events, self._most_size = feed, events, size
        self._waiting: deque[Numbered] = deque()
        self._size = 0
        self._bell = trio.Event()
        self._closed = False
        self._dropped: TooSlow | None = None
        self._cursor = 0

    def __aiter__(self) -> Reader:
        return self

    async def __anext__(self) -> Numbered:
        """The next happening. Raises `TooSlow` once, after what was still waiting."""
        if self._waiting or self._dropped or self._closed:
            await trio.lowlevel.checkpoint()
        while not self._waiting:
            if self._dropped is not None:
                raise self._dropped
            if self._closed:
                raise StopAsyncIteration
            await self._bell.wait()
        found = self._waiting.popleft()
        self._size -= _cost(found.what)
        if not self._waiting:
            self._bell = trio.Event()
        return found

    @property
    def has_waiting(self) -> bool:
        """Something has come and was not read."""
        return bool(self._waiting)

    def take_waiting(self) -> list[Numbered]:
        """Everything that has come and was not read, without waiting: for one who collects."""
        found = list(self._waiting)
        if found:
            self._waiting.clear()
            self._size, self._bell = 0, trio.Event()
        return found

    def close(self) -> None:
        """Look no longer."""
        self._feed.forget(self)
        self._closed = True
        self._bell.set()

    def offer(self, numbered: Numbered) -> None:
        """Take one more, merge it, or be dropped; never waits."""
        if not self._is_full():
            self.catch_up(numbered)
        elif not self._merge(numbered):
            self._dropped = TooSlow(self._cursor)
            self.close()

    def catch_up(self, numbered: Numbered) -> None:
        """Take one whatever the buffer's limits: for what the feed itself has kept."""
        self._waiting.append(numbered)
        self._size += _cost(numbered.what)
        self._cursor = numbered.number
        self._bell.set()

    def _is_full(self) -> bool:
        return len(self._waiting) >= self._most_events or self._size >= self._most_size

    def _merge(self, numbered: Numbered) -> bool:
        """Join the last waiting words with these, as long as the buffer's size allows it."""
        last, new = self._waiting[-1].what if self._waiting else None, numbered.what
        if self._size >= self._most_size or not isinstance(new, Words):
            return False
        if not isinstance(last, Words) or (last.run, last.origin) != (new.run, new.origin):
            return False
        joined = msgspec.structs.replace(new, text=last.text + new.text)
        self._waiting[-1] = Numbered(numbered.number, joined)
        self._size += len(new.text)
        self._cursor = numbered.number
        return True


class Feed:
    """One session's happenings. Publishing and subscribing are plain calls."""

    def __init__(self, *, keep_events: int = 4096, keep_size: int = 256 * 1024) -> None:
        self._keep_events, self._keep_size = keep_events, keep_size
        self._kept: deque[Numbered] = deque()
        self._size = 0
        self._number = 0
        self._readers: list[Reader] = []

    @property
    def number(self) -> int:
        """The number of the latest happening."""
        return self._number

    @property
    def watched(self) -> bool:
        """Somebody reads along."""
        return bool(self._readers)

    def beginning(self, name: str) -> int | None:
        """The number after which to read a run, given its id or a message that it answers.

        None: it has not begun, or its beginning is no longer kept.
        """
        for numbered in reversed(self._kept):
            what = numbered.what
            if isinstance(what, RunBegan) and (what.run == name or name in what.keys):
                return numbered.number - 1
        return None

    def publish(self, what: Seen) -> None:
        """Number it, keep it, hand it to every reader."""
        self._number += 1
        numbered = Numbered(self._number, what)
        self._kept.append(numbered)
        self._size += _cost(numbered.what)
        while len(self._kept) > self._keep_events or self._size > self._keep_size:
            self._size -= _cost(self._kept.popleft().what)
        for reader in tuple(self._readers):
            reader.offer(numbered)

    def subscribe(
        self, *, after: int | None = None, events: int = 1024, size: int = 256 * 1024
    ) -> Reader:
        """A reader of everything from now on, or of everything after a number.

        `TooLate` when some of that is no longer kept: then begin with the stored transcript.
        """
        reader = Reader(self, events=events, size=size)
        for numbered in self._since(self._number if after is None else after):
            reader.catch_up(numbered)
        self._readers.append(reader)
        return reader

    def forget(self, reader: Reader) -> None:
        """Hand nothing more to this reader."""
        if reader in self._readers:
            self._readers.remove(reader)

    def close(self) -> None:
        """No more will come; readers end when they have read what waits."""
        for reader in tuple(self._readers):
            reader.close()

    def _since(self, number: int) -> Iterator[Numbered]:
        oldest = self._kept[0].number if self._kept else self._number + 1
        if number + 1 < oldest:
            raise TooLate(f"what came after {number} is no longer kept; it begins at {oldest}")
        return (each for each in tuple(self._kept) if each.number > number)


class Feeds:
    """The feeds of all conversations, to be found by key whether or not their actor lives."""

    def __init__(self) -> None:
        self._feeds: dict[str, Feed] = {}

    def of(self, key: str) -> Feed:
        """The feed of a conversation, made on first use."""
        return self._feeds.setdefault(key, Feed())

    def release(self, key: str) -> None:
        """The conversation has left memory; its feed stays only while somebody reads it."""
        feed = self._feeds.get(key)
        if feed is not None and not feed.watched:
            del self._feeds[key]

    def close(self) -> None:
        """End every feed: the gateway is going down."""
        for feed in self._feeds.values():
            feed.close()
        self._feeds.clear()


def _cost(what: Seen) -> int:
    return _BASE_COST + (len(what.text) if isinstance(what, Words) else 0)
