"""What a person reads when a run did not end with an answer: proof, not a promise.

A report is written after everything of the run is gone, so it says what *was* cancelled. If
something could not be cut, such as a thread in the middle of foreign code, it says that instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from hermes_actors.pure.endings import Ending, Reason

NOTHING_RUNS = "Nothing is running here, so there was nothing to stop."


class CutOff(msgspec.Struct, frozen=True):
    """What a run still had in hand when it ended, by name, and what waits behind it.

    `unconfirmed` are calls that could not be interrupted; `queued` messages are kept, `dropped`
    ones are gone.
    """

    model_call: bool = False
    tools: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    remote_calls: tuple[str, ...] = ()
    subagents: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()
    queued: int = 0
    dropped: int = 0


class StopReport(msgspec.Struct, frozen=True):
    """`text` is for the person, `status` one line for lists and logs, `reason` for hooks."""

    text: str
    status: str
    reason: str


_REASONS: dict[Reason, str] = {
    "ok": "Completed",
    "user_stop": "Stop requested",
    "new_session": "New conversation requested",
    "superseded": "A newer message took over",
    "client_disconnected": "The client disconnected",
    "handoff": "The conversation moved elsewhere",
    "shutdown": "The gateway is shutting down",
    "supervisor": "The conversation had to be restarted",
    "crash": "The gateway ended unexpectedly",
    "guardrail": "A guardrail ended the run",
    "budget": "The token budget is used up",
    "max_iterations": "The limit of model calls was reached",
    "denied": "Approval was denied",
    "provider": "The model gave no usable answer",
    "store": "The store could not keep the run",
    "internal": "An error of the gateway itself",
    "deadline": "The time limit was reached",
    "idle": "Nothing happened for too long",
}
_WORDS: dict[Reason, str] = {
    "ok": "Done.",
    "user_stop": "Stopped.",
    "new_session": "Stopped. A new conversation starts here.",
    "superseded": "Stopped: your newer message takes over.",
    "client_disconnected": "Stopped: the connection that this answer was for has closed.",
    "handoff": "Stopped here: this conversation goes on in its new place.",
    "shutdown": "Stopped: the gateway is shutting down. Send your message again when it is back.",
    "supervisor": "Stopped: this conversation had to be restarted. Send your message again.",
    "crash": "The gateway ended unexpectedly during this run. What was said until then is kept; "
    "send your message again to go on.",
    "guardrail": "I stopped: a tool was called again and again without progress (guardrail). "
    "Tell me what to change.",
    "budget": "I stopped: the token budget of this run is used up (budget). "
    "Send a message to go on, or raise the limit.",
    "max_iterations": "I stopped: this run has used all its model calls (max_iterations). Send a "
    "message to go on.",
    "denied": "I stopped: what I asked to do was denied (denied). Tell me another way.",
    "provider": "The model gave no usable answer. Try again, or choose another with /model.",
    "store": "This could not be saved, so I did not go on. Check the disk, then try again.",
    "internal": "Something in the gateway itself went wrong. It is in the log; please try again.",
    "deadline": "I stopped: this run took longer than it may (deadline). Send a message to go on.",
    "idle": "I stopped: nothing had happened for too long (idle). Send a message to go on.",
}


def stop_report(ending: Ending, cut: CutOff | None = None, words: str = "") -> StopReport:
    """The report of one run. `words` take the place of the general cause where more is known."""
    cut = cut or CutOff()
    sentences = [words.strip() or _WORDS[ending.reason]]
    if ending.state != "completed":
        sentences += _proof(ending, cut)
    return StopReport(" ".join(sentences), _status(ending, cut), _REASONS[ending.reason])


def reason_in_words(ending: Ending) -> str:
    """The short text that hooks get as `reason`."""
    return _REASONS[ending.reason]


def _proof(ending: Ending, cut: CutOff) -> Iterator[str]:
    pieces = list(_pieces(cut))
    if pieces:
        yield f"Cancelled: {', '.join(pieces)}."
    if cut.unconfirmed:
        names = _named(cut.unconfirmed)
        yield f"Could not be interrupted, so it may still have an effect: {names}."
        yield "Its result will not be used."
    elif ending.state == "stopped" and ending.reason != "crash":
        yield "Nothing of this run is active any more, and nothing was sent after the stop."
    if cut.queued:
        yield f"{_count(cut.queued, 'message')} still queued; /stop all drops them too."
    if cut.dropped:
        yield f"{_count(cut.dropped, 'queued message')} dropped."


def _pieces(cut: CutOff) -> Iterator[str]:
    if cut.model_call:
        yield "the model call"
    for names, what in (
        (cut.tools, "tool call"),
        (cut.processes, "process"),
        (cut.remote_calls, "remote call"),
        (cut.subagents, "sub-agent"),
    ):
        if names:
            yield f"{_count(len(names), what)} ({_named(names)})"


def _status(ending: Ending, cut: CutOff) -> str:
    parts = [ending.state, ending.reason, *_pieces(cut)]
    if cut.unconfirmed:
        parts.append(f"not confirmed: {_named(cut.unconfirmed)}")
    if cut.queued:
        parts.append(f"{cut.queued} queued")
    if cut.dropped:
        parts.append(f"{cut.dropped} dropped")
    return " · ".join(parts)


def _count(number: int, what: str) -> str:
    plural = "es" if what.endswith("s") else "s"
    return f"{number} {what}{plural if number != 1 else ''}"


def _named(names: Sequence[str]) -> str:
    """Each name once, with how often, and no more than a line can hold."""
    counted = Counter(" ".join(name.split())[:40] for name in names)
    shown = [f"{name} ×{times}" if times > 1 else name for name, times in counted.items()]
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")
