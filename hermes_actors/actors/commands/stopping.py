"""`/stop`: the answer is the report of a run that has ended, not the promise that it will.

The stop itself is one signal, in the sender's own step. Then we wait for the run's last words. They
come when nothing of it lives any more and its end is stored.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import trio

from hermes_actors.actors.commands.asked import Answer, Asked
from hermes_actors.actors.commands.background import companions
from hermes_actors.actors.feed import Reader, TooSlow
from hermes_actors.actors.receipts import Said
from hermes_actors.actors.signals import Look, StopRun
from hermes_actors.actors.turn import HOOKS_WITHIN
from hermes_actors.actors.withdrawal import tell_withdrawn, withdraw
from hermes_actors.happenings import RunEnded
from hermes_actors.pure.commands import stops_all
from hermes_actors.pure.stop_report import NOTHING_RUNS
from hermes_actors.store import inbox

ALREADY_OVER = "The run had come to its end by itself, so there was nothing left to stop."
UNCONFIRMED = (
    "The run is cut and does nothing new, but its end is not confirmed yet. /status shows it."
)
_MARGIN = 5.0


class _Ending(msgspec.Struct, frozen=True):
    """A run on its way out, and somebody who listens for its last words."""

    run: str
    reader: Reader


async def stop(asked: Asked) -> Answer:
    """Stop the run, and with `all` what waits and what runs in the background too."""
    everything = stops_all(asked.command)
    ours = _cut(asked, asked.key, everything=everything)
    others = list(_cut_companions(asked)) if everything else []
    try:
        within = asked.house.limits.seal_within + HOOKS_WITHIN + _MARGIN
        deadline = trio.current_time() + within
        ended = [await _last_words(each, deadline) for each in others]
        answer = None if ours is None else await _last_words(ours, deadline)
    finally:
        for each in (*others, *filter(None, (ours,))):
            each.reader.close()
    if answer is not None:
        return answer
    return await _nothing_but(asked, everything, sum(each.run is not None for each in ended))


def _cut(asked: Asked, key: str, *, everything: bool) -> _Ending | None:
    """Stop what runs there, in this very step; None: nothing does."""
    wish, look = StopRun("user_stop", drop_queued=everything), Look()
    session = asked.office.sessions.ref(key)
    session.signal(wish)
    session.signal(look)
    run = wish.hit or look.run_id
    return None if run is None else _Ending(run, asked.house.feeds.of(key).subscribe(events=4096))


def _cut_companions(asked: Asked) -> Iterator[_Ending]:
    for key in companions(asked):
        ending = _cut(asked, key, everything=True)
        if ending is not None:
            yield ending


async def _last_words(ending: _Ending, deadline: float) -> Said:
    with trio.CancelScope(deadline=deadline):
        end = await _end_of(ending)
        if end is not None:
            return Said(end.text, ending.run) if end.state == "stopped" else Said(ALREADY_OVER)
    return Said(UNCONFIRMED)


async def _end_of(ending: _Ending) -> RunEnded | None:
    try:
        async for numbered in ending.reader:
            if isinstance(numbered.what, RunEnded) and numbered.what.run == ending.run:
                return numbered.what
    except TooSlow:
        pass  # so much is happening that we cannot follow: then we cannot vouch for it
    return None


async def _nothing_but(asked: Asked, everything: bool, others: int) -> str:
    """No run was in progress here; what there was instead."""
    words = [f"Background runs stopped: {others}." if others else NOTHING_RUNS]
    if everything:
        gone = await withdraw(asked.house, asked.key)
        await tell_withdrawn(asked.house, gone)
        words += [f"Queued messages dropped: {len(gone)}."] if gone else []
        return " ".join(words)
    if waiting := await asked.house.store.read(inbox.queued(asked.key)):
        words.append(f"Messages still queued: {len(waiting)}; /stop all drops them.")
    if running := len(companions(asked)):
        words.append(f"Background runs that go on: {running}; /stop all ends them too.")
    return " ".join(words)
