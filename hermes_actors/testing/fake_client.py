"""A client that lends its tools, without a wire: it answers by itself, by hand, or badly."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
import trio

from hermes_actors.errors import ActorGone
from hermes_actors.journal import Journal
from hermes_actors.values import (
    RemoteCall,
    RemoteCancelled,
    RemoteNotice,
    RemoteResult,
    ToolSpec,
)

Frame = RemoteCall | RemoteNotice | RemoteResult
ANY_OBJECT: dict[str, Any] = {"type": "object"}


class FakeRemoteClient:
    """Takes calls; its results go to `on_result(identity, result)`, which the test sets.

    Started as a task, `serve` answers with the handlers given to `tool`. Without it, take calls
    with `next_call` and answer them with `answer` or `fail`: late, twice, or for a call
    that is another client's, since nothing here checks that. `vanish` ends the connection. It
    notes `remote.cancel_frame` and `client.gone`, as an adapter in its place would.
    """

    def __init__(
        self,
        identity: str = "client",
        *,
        on_result: Callable[[str, RemoteResult], object] = lambda identity, result: None,
        on_gone: Callable[[str], object] = lambda identity: None,
        journal: Journal | None = None,
    ) -> None:
        self.identity = identity
        self.on_result, self.on_gone = on_result, on_gone
        self.tools: dict[str, ToolSpec] = {}
        self.frames: list[Frame] = []
        """Everything that passed between the two sides, in order."""
        self.gone = False
        self._journal = journal or Journal(remember=0)
        self._handlers: dict[str, Callable[..., Any]] = {}
        self._waiting: deque[RemoteCall] = deque()
        self._bell = trio.Event()
        self._working: dict[str, trio.CancelScope] = {}
        self._connection = trio.CancelScope()

    def tool(
        self,
        name: str,
        handler: Callable[..., Any],
        *,
        description: str = "",
        parameters: dict[str, Any] | None = None,
    ) -> ToolSpec:
        """Lend a tool. `serve` calls `handler(**arguments)`, sync or async, to answer."""
        self._handlers[name] = handler
        self.tools[name] = ToolSpec(name, description, parameters or ANY_OBJECT)
        return self.tools[name]

    @property
    def kinds(self) -> list[str]:
        """The frames by the names of their types."""
        return [type(frame).__name__ for frame in self.frames]

    # What the core asks ----------------------------------------------------------------------

    async def request(self, call: RemoteCall) -> None:
        """Take a call. `ActorGone` once the client has vanished."""
        await trio.lowlevel.checkpoint()
        if self.gone:
            raise ActorGone(self.identity, "the client has left")
        self.frames.append(call)
        self._waiting.append(call)
        self._ring()

    def notify(self, notice: RemoteNotice) -> None:
        """Hear that a call has ended: its handler is cut. A client that has left hears nothing."""
        if self.gone:
            return
        self.frames.append(notice)
        if isinstance(notice, RemoteCancelled):
            self._journal.note("remote.cancel_frame", call=notice.call_id, client=self.identity)
        if (handler := self._working.get(notice.call_id)) is not None:
            handler.cancel("the call has ended")

    # What the client does --------------------------------------------------------------------

    async def next_call(self) -> RemoteCall:
        """Wait for the next call that nobody has taken. `ActorGone` once the client has left."""
        call = await self._take()
        if call is None:
            raise ActorGone(self.identity, "the client has left")
        return call

    def answer(self, call: RemoteCall | str, result: Any = None) -> None:
        """Send a result for this call, or for any call id. Nothing leaves a client that is gone."""
        self._send(RemoteResult(_id_of(call), result))

    def fail(self, call: RemoteCall | str, error: str) -> None:
        """Send an error for this call."""
        self._send(RemoteResult(_id_of(call), error=error))

    def vanish(self) -> None:
        """Lose the connection: handlers are cut, and no frame passes any more."""
        if not self.gone:
            self.gone = True
            self._waiting.clear()
            self._ring()
            self._connection.cancel("the client has vanished")
            self._journal.note("client.gone", client=self.identity)
            self.on_gone(self.identity)

    async def serve(self) -> None:
        """Answer calls side by side until the client vanishes, or this task is cancelled."""
        with self._connection:
            async with trio.open_nursery() as nursery:
                while (call := await self._take()) is not None:
                    nursery.start_soon(self._work, call)

    async def _take(self) -> RemoteCall | None:
        await trio.lowlevel.checkpoint()
        while not self._waiting and not self.gone:
            await self._bell.wait()
        return self._waiting.popleft() if self._waiting else None

    async def _work(self, call: RemoteCall) -> None:
        with trio.CancelScope() as self._working[call.call_id]:
            await trio.lowlevel.checkpoint()
            try:
                result = self._handle(call)
                self.answer(call, await result if inspect.isawaitable(result) else result)
            except Exception as error:  # noqa: BLE001  border to the test's handler: becomes an answer
                self.fail(call, f"{type(error).__name__}: {error}")
        self._working.pop(call.call_id, None)

    def _handle(self, call: RemoteCall) -> Any:
        handler = self._handlers.get(call.name)
        if handler is None:
            raise LookupError(f"there is no tool '{call.name}'")
        return handler(**msgspec.json.decode(call.arguments, type=dict[str, Any]))

    def _ring(self) -> None:
        self._bell.set()
        self._bell = trio.Event()

    def _send(self, result: RemoteResult) -> None:
        if not self.gone:
            self.frames.append(result)
            self.on_result(self.identity, result)


def _id_of(call: RemoteCall | str) -> str:
    return call if isinstance(call, str) else call.call_id
