"""Runs that do something other than answer words: what drives them in the place of the agent loop.

They are runs like any other: in their turn, stoppable, with one end that everyone hears.
"""

from __future__ import annotations

import trio

from hermes_actors.actors.compactor import compact
from hermes_actors.actors.turn import Turn
from hermes_actors.pure.agent_loop import Compacted
from hermes_actors.pure.endings import OK

NOTHING_TO_RETRY = "There is no message of yours here that could be answered again."


async def compress(turn: Turn) -> None:
    """Sum up the older part of the conversation; the words of the order are what matters."""
    turn.enter("compacting")
    outcome = await compact(turn, turn.order.text)
    if isinstance(outcome, Compacted):
        words = f"Done: the model now reads {len(outcome.history)} messages of this conversation."
    else:
        words = f"Nothing was changed. {outcome.why}".strip()
    turn.finish(OK, words, said=False)


async def nothing_to_retry(turn: Turn) -> None:
    """Say so."""
    await trio.lowlevel.checkpoint()
    turn.finish(OK, NOTHING_TO_RETRY, said=False)
