"""From "stop" to a closed connection, as the model itself sees it, and to the end of the run.

Beside each stop, in the same moment of the machine, a bare socket to the same model is closed: the
difference is ours, the rest is the operating system and whoever else uses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from time import monotonic

import msgspec
import trio

from benchmarks.child import figures, tell
from benchmarks.result import Result, at_least, at_most
from benchmarks.rounds import Size
from benchmarks.table import number
from benchmarks.turns.child_gateway import ENDLESS, Bench, bench
from benchmarks.turns.gateway import Conversation
from benchmarks.turns.model import FakeModel
from benchmarks.turns.script import Script

PATIENCE = 2.0
CONVERSATIONS = 10
PACE = 0.005
PHASES = {
    "a model that hangs": Script(hang="before"),
    "a stream that hangs": Script(deltas=3, hang="middle", pace=PACE),
    "a running stream": Script(deltas=ENDLESS, pace=PACE),
}


class Stop(msgspec.Struct, frozen=True):
    """Seconds from a stop until the model saw its connection closed, and until the run ended."""

    closed: float | None
    ended: float
    bare: float


def measure(size: Size) -> Iterator[Result]:
    """Three things a model may be doing when somebody says stop."""
    count = size.of(250)
    for words, script in PHASES.items():
        found = figures(stop, count, script.words())
        yield from _told(words, found, count)


def _told(words: str, found: dict[str, float], count: int) -> Iterator[Result]:
    yield Result(
        name=f"stop of {words} to closed connection, p99",
        value=found["closed_p99"],
        unit="ms",
        target=at_most(20),
        beside=f"p50 {number(found['closed_p50'])}; a bare socket p50 {number(found['bare_p50'])}, "
        f"p99 {number(found['bare_p99'])} ms (wall-clock time)",
    )
    yield Result(
        name=f"stop of {words}, connection closed",
        value=found["share"],
        unit="%",
        target=at_least(100),
        beside=f"of {number(count)} stops; the run ended and sealed after p50 "
        f"{number(found['ended_p50'])}, p99 {number(found['ended_p99'])} ms",
    )


# In the child --------------------------------------------------------------------------------


def stop(count: str, script: str) -> None:
    """Measure in this process and tell the figures."""
    trio.run(_stop, int(count), msgspec.json.decode(script, type=Script))


async def _stop(count: int, script: Script) -> None:
    async with bench() as house:
        talks = [await house.conversation() for _ in range(CONVERSATIONS)]
        stops = [
            await _one_stop(house, talks[at % CONVERSATIONS], script, f"stop{at}")
            for at in range(count)
        ]
    closed = [each.closed for each in stops if each.closed is not None]
    tell(
        share=100 * len(closed) / count,
        closed_p50=median(closed) * 1000,
        closed_p99=late(closed) * 1000,
        bare_p50=median(each.bare for each in stops) * 1000,
        bare_p99=late([each.bare for each in stops]) * 1000,
        ended_p50=median(each.ended for each in stops) * 1000,
        ended_p99=late([each.ended for each in stops]) * 1000,
    )


async def _one_stop(house: Bench, talk: Conversation, script: Script, tag: str) -> Stop:
    await talk.say(msgspec.structs.replace(script, tag=tag))
    await house.model.until_open({tag})
    bare = await _close_bare(house.model, f"bare {tag}")
    begin = monotonic()
    assert talk.stop(), "there was nothing to stop"
    await talk.until_ended()
    ended = monotonic() - begin
    closed = await house.model.until_closed(tag, PATIENCE)
    return Stop(None if closed is None else closed - begin, ended, bare)


async def _close_bare(model: FakeModel, tag: str) -> float:
    stream = await trio.open_tcp_stream("127.0.0.1", model.port)
    try:
        await stream.send_all(_request(Script(hang="before", tag=tag)))
        await model.until_open({tag})
        begin = monotonic()
    finally:
        stream.socket.close()
    closed = await model.until_closed(tag, PATIENCE)
    assert closed is not None, "a bare socket was closed and nobody saw it"
    return closed - begin


def _request(script: Script) -> bytes:
    said = {"stream": True, "messages": [{"role": "user", "content": script.words()}]}
    body = msgspec.json.encode(said)
    return b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


def late(values: Sequence[float]) -> float:
    """The value that 99 of 100 do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
