"""A model that does what the question says, in a process of its own, on a real socket.

It prints its port, and then a line for every `Event` of a tagged request. It ends when its standard
input does, so it cannot outlive whoever has started it.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from time import monotonic

import msgspec
import trio

from benchmarks.turns import answers
from benchmarks.turns.script import Event, Question, Script

_BACKLOG = 2048
_SEEN_BEFORE_OPEN = 3


class Connection:
    """One client: question after question, until it hangs up."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream, self._buffer = stream, b""

    async def serve(self) -> None:
        """Answer everything that comes."""
        try:
            while (asked := await self._request()) is not None:
                await self._answer(*asked)
        except trio.BrokenResourceError:
            pass  # it hung up in the middle, as clients may
        finally:
            self._stream.socket.close()

    async def _request(self) -> tuple[bytes, bytes] | None:
        """The first line and the body of the next request; None when there is no next one."""
        while b"\r\n\r\n" not in self._buffer:
            if not await self._more():
                return None
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        size = _length(head)
        while len(self._buffer) < size:
            if not await self._more():
                return None
        body, self._buffer = self._buffer[:size], self._buffer[size:]
        return head.split(b"\r\n", 1)[0], body

    async def _more(self) -> bool:
        data = await self._stream.receive_some()
        self._buffer += data
        return bool(data)

    async def _answer(self, line: bytes, body: bytes) -> None:
        if line.startswith(b"GET"):
            await self._stream.send_all(answers.plain(answers.MODELS))
            return
        question = msgspec.json.decode(body, type=Question)
        script = question.script()
        if not question.stream:
            await self._stream.send_all(answers.whole(script.deltas))
        elif script.hang or script.pace:
            await self._watched(script)
        else:
            await self._stream.send_all(_at_once(script.deltas))

    async def _watched(self, script: Script) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._until_hung_up, script.tag)
            await self._at_a_pace(script)
            nursery.cancel_scope.cancel("answered")

    async def _until_hung_up(self, tag: str) -> None:
        try:
            while await self._more():
                pass
        except trio.BrokenResourceError:
            pass
        _tell(tag, "closed")
        raise trio.BrokenResourceError

    async def _at_a_pace(self, script: Script) -> None:
        if script.hang == "before":
            _tell(script.tag, "open")
            await trio.sleep_forever()
        await self._stream.send_all(answers.HEAD)
        for number in range(script.deltas):
            await self._stream.send_all(answers.piece(number))
            if number + 1 == min(_SEEN_BEFORE_OPEN, script.deltas):
                _tell(script.tag, "open")
            await trio.sleep(script.pace)
        if script.hang:
            await trio.sleep_forever()
        await self._stream.send_all(answers.end())


def _at_once(deltas: int) -> bytes:
    return b"".join((answers.HEAD, *map(answers.piece, range(deltas)), answers.end()))


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


def _tell(tag: str, kind: str) -> None:
    if tag:
        event = msgspec.convert({"tag": tag, "kind": kind, "at": monotonic()}, Event)
        os.write(sys.stdout.fileno(), msgspec.json.encode(event) + b"\n")


async def main() -> None:
    """Serve until standard input ends."""
    async with trio.open_nursery() as nursery:
        serve = partial(trio.serve_tcp, _serve, 0, host="127.0.0.1", backlog=_BACKLOG)
        listeners = await nursery.start(serve)
        print(listeners[0].socket.getsockname()[1], flush=True)
        async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as parent:
            while await parent.receive_some():
                pass
        nursery.cancel_scope.cancel("nobody needs it any more")


async def _serve(stream: trio.SocketStream) -> None:
    try:
        await Connection(stream).serve()
    except* trio.BrokenResourceError:
        pass  # out of the nursery that watched a client which hung up


if __name__ == "__main__":
    trio.run(main)
