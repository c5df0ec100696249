"""Puts an answer together from its pieces, and says each piece once.

Providers and the many servers that imitate them disagree on how a tool call is cut up. What they
have in common is kept here: slots for calls, an id for each that nobody else has, a name that is
known before its first arguments are passed on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adapters.models.canonical import free_id
from hermes_actors.values import (
    AssistantMessage,
    Delta,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)


class Slot:
    """One tool call that is being written. `key` is how the provider refers to it."""

    def __init__(self, key: object, number: int) -> None:
        self.key, self.number = key, number
        self.given_id = self.id = self.name = ""
        self.extra: dict[str, Any] = {}
        self.announced = False
        self.pieces: list[str] = []


class Assembly:
    """The words, the thinking and the calls of one answer so far."""

    def __init__(self, request: ModelRequest) -> None:
        self.slots: list[Slot] = []
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._request = request
        self._taken: set[str] | None = None

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    @property
    def empty(self) -> bool:
        """True while nothing at all has come."""
        return not (self._text or self._reasoning or self.slots)

    def say(self, text: str) -> Iterator[Delta]:
        if text:
            self._text.append(text)
            yield TextDelta(text)

    def think(self, text: str) -> Iterator[Delta]:
        if text:
            self._reasoning.append(text)
            yield ReasoningDelta(text)

    def open(self, key: object) -> Slot:
        """A new call."""
        slot = Slot(key, len(self.slots))
        self.slots.append(slot)
        return slot

    def find(self, key: object) -> Slot | None:
        """The newest call that the provider knows by `key`."""
        return next((slot for slot in reversed(self.slots) if slot.key == key), None)

    def write(self, slot: Slot, arguments: str) -> Iterator[Delta]:
        """More of a call. It is announced with id and name, once the name is known."""
        slot.pieces.append(arguments)
        if slot.announced:
            if arguments:
                yield ToolCallDelta(slot.number, arguments)
        elif slot.name:
            yield from self._announce(slot)

    def finish(self) -> Iterator[Delta]:
        """Announce what never got a name: whoever runs the calls has to refuse it in words."""
        for slot in self.slots:
            if not slot.announced:
                yield from self._announce(slot)

    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(
            ToolCall(slot.id, slot.name, "".join(slot.pieces) or "{}") for slot in self.slots
        )

    def _announce(self, slot: Slot) -> Iterator[Delta]:
        slot.announced = True
        # Not random: the same history has to give the same bytes, and so the same cached prompt.
        fallback = f"call_{len(self._request.messages)}_{slot.number}"
        slot.id = free_id(slot.given_id, fallback, self._ids())
        self._ids().add(slot.id)
        yield ToolCallDelta(slot.number, "".join(slot.pieces), slot.id, slot.name)

    def _ids(self) -> set[str]:
        if self._taken is None:
            said = (each for each in self._request.messages if isinstance(each, AssistantMessage))
            self._taken = {call.id for each in said for call in each.tool_calls}
        return self._taken
