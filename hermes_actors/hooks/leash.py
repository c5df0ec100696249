"""Running foreign async code that may not listen when it is cancelled.

Trio delivers a cancellation again at every wait. Code that swallows each one and goes on waiting
spins at full speed, and its task never ends. So we drive the coroutine step by step ourselves,
count what it swallows, and after a generous number let go: it is closed, and its task ends.
Trio hands a cancellation over as the *answer* to a wait, to be unwrapped further inside; that is
where we look for it. A time limit inside the foreign code looks the same from here, so nothing is
counted before somebody outside has really asked for the end.

Two kinds of code cannot be let go. While it has a nursery of its own open, its children would be
orphaned, so it is slowed down instead until the nursery is closed. And what waits inside a shield
of its own is not told of the cancellation at all; for that see `shields.py`.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

import trio

T = TypeVar("T")

# Clean-up that waits in several `finally` blocks meets a handful of these; a loop meets all.
MAY_SWALLOW = 100
PAUSE = 1.0


class LetGo(Exception):
    """A coroutine ignored its cancellation and is no longer run. `closed` is False when it also
    refused to be closed; whoever holds this exception then holds the remains."""

    def __init__(self, remains: Coroutine[Any, Any, Any], *, closed: bool) -> None:
        super().__init__("ignored its cancellation")
        self.remains, self.closed = remains, closed


class Pace:
    """How long a coroutine has kept the event loop to itself, in seconds, over all its steps."""

    busy = 0.0


@types.coroutine
def leashed(
    work: Coroutine[Any, Any, T], must_end: Callable[[], bool], pace: Pace
) -> Generator[Any, Any, T]:
    """Await `work`, keeping its `pace`. Once `must_end()` is true, it may be cancelled in vain
    `MAY_SWALLOW` times; then `LetGo` is raised."""
    swallowed, nurseries = 0, len(trio.lowlevel.current_task().child_nurseries)
    step: Callable[[], Any] = functools.partial(work.send, None)
    while True:
        began = trio.current_time()
        try:
            wish = step()
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            pace.busy += trio.current_time() - began
        try:
            answer = yield wish
        # Passed on, whatever it is, to the code that waits for it.
        except BaseException as failure:  # noqa: BLE001, ASYNC103
            step = functools.partial(work.throw, failure)
            continue  # noqa: ASYNC104
        if _is_cancellation(answer) and must_end():
            swallowed += 1
            if swallowed > MAY_SWALLOW:
                yield from _restrain(work, nurseries).__await__()
        step = functools.partial(work.send, answer)


def _is_cancellation(answer: object) -> bool:
    return isinstance(getattr(answer, "error", None), trio.Cancelled)


async def _restrain(work: Coroutine[Any, Any, Any], nurseries_before: int) -> None:
    # Between two of its steps `work` waits for nothing, so it is safe to wait in its place.
    if len(trio.lowlevel.current_task().child_nurseries) <= nurseries_before:
        raise LetGo(work, closed=_close(work))
    try:
        with trio.move_on_after(PAUSE, shield=True):
            await trio.sleep_forever()
    # Somebody broke this shield, and could not know that it was ours. `work` is about to be told.
    except trio.Cancelled:  # noqa: ASYNC103
        return  # noqa: ASYNC104


def _close(work: Coroutine[Any, Any, Any]) -> bool:
    try:
        work.close()
    except Exception:  # noqa: BLE001  foreign code: its last words, or it ignored even this
        return getattr(work, "cr_frame", None) is None
    return True
