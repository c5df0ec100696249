"""A model that does what a list says, call by call."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from adapters.models.stream import OnDelta
from hermes_actors.ports import ModelFailed
from hermes_actors.values import Delta, ModelReply, ModelRequest, TextDelta

Turn = ModelReply | ModelFailed | float | Delta | Sequence["Turn"]


class ListedModel:
    """Each call performs the next turn: reply, fail, say a piece, sleep, or several of these."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.asked: list[tuple[float, str]] = []

    async def respond(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        self.asked.append((trio.current_time(), request.model))
        turn = self.turns.pop(0)
        for step in turn if isinstance(turn, list | tuple) else [turn]:
            await trio.lowlevel.checkpoint()
            if isinstance(step, float):
                await trio.sleep(step)
            elif isinstance(step, ModelFailed):
                raise step
            elif isinstance(step, ModelReply):
                return step
            else:
                on_delta(step)  # type: ignore[arg-type]
        raise AssertionError("a turn has to end with a reply or a failure")


def said(text: str) -> tuple[TextDelta, ModelReply]:
    """An answer of one piece."""
    return TextDelta(text), ModelReply(text)


BUSY = ModelFailed("overloaded", "It is busy. Wait.")
SLOW = ModelFailed("rate_limited", "Too many. Wait.", retry_after=20.0)
GONE = ModelFailed("unreachable", "Nobody is there. Check.")
WRONG = ModelFailed("bad_request", "Wrong. Check.")
LONG = ModelFailed("context_overflow", "Too long. Shorten.")
BLOCKED = ModelFailed("content_filter", "Blocked. Rephrase.")
LOCKED = ModelFailed("unauthorized", "No entry. Check the key.")
