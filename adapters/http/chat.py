"""`POST /v1/chat/completions`: a question in, a followed run out."""

from __future__ import annotations

import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adapters.http.about import View
from adapters.http.answers import Complaint, Json
from adapters.http.asking import Asked, ChatRequest, understood
from adapters.http.body import read_as
from adapters.http.chat_shapes import Shapes, completion_id, tool_progress
from adapters.http.connection import while_connected
from adapters.http.desk import Desk, Taken
from adapters.http.following import Batch, Following
from adapters.http.front import Receive, Scope, Send
from adapters.http.leaving import Leaving
from adapters.http.naming import SESSION_ID, SESSION_KEY
from adapters.http.spoken import Spoken
from adapters.http.sse import DONE, KEEPALIVE, Collector, EventWriter, event, trouble
from hermes_actors.errors import Refusal
from hermes_actors.happenings import RunEnded

RUN_ID = "X-Hermes-Run-Id"
EVENTS = "X-Hermes-Events"
PROGRESS = "hermes.tool.progress"
HEAD_WITHIN = 2.0


class Chat:
    """Chat completions."""

    def __init__(
        self, view: View, desk: Desk, leaving: Leaving, *, keepalive: float, agent: str
    ) -> None:
        self._view, self.desk, self.leaving = view, desk, leaving
        self.keepalive, self._agent = keepalive, agent

    def routes(self) -> list[Route]:
        return [Route("/v1/chat/completions", self.complete, methods=["POST"])]

    async def complete(self, request: Request) -> Response:
        wanted, body = await read_as(request, ChatRequest)
        asked = understood(wanted)
        if self._view.health().get("status") == "stopping":
            raise Complaint(503, "gateway_draining", "The gateway is going down.", retry_after=1)
        return Answering(self, request, asked, body)

    def shapes(self, asked: Asked, taken: Taken) -> Shapes:
        """What the objects of an answer have in common."""
        return Shapes(completion_id(taken.key), self.desk.now(), asked.model or self._agent)


class Answering(Response):
    """The answer to one question. As a response it is there for as long as the client is."""

    def __init__(self, chat: Chat, request: Request, asked: Asked, body: bytes) -> None:
        self._chat, self._request, self._asked, self._question = chat, request, asked, body
        self._spoken = Spoken()
        self._end: RunEnded | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id: str = scope["state"]["request_id"]
        with self._chat.desk.place():
            self._taken = await self._chat.desk.take(
                self._asked, self._question, self._request.headers, request_id
            )
            self._shapes = self._chat.shapes(self._asked, self._taken)
            following = self._taken.following
            if following is None:
                await self._at_once(scope, receive, send)
                return
            with self._chat.leaving.watching(following):
                if self._asked.stream:
                    await self._stream(following, receive, send)
                else:
                    answer = await self._whole(following, receive)
                    await answer(scope, receive, send)

    # In one piece ----------------------------------------------------------------------

    async def _whole(self, following: Following, receive: Receive) -> Response:
        async def listen() -> None:
            while not following.over:
                self._hear(await following.next())

        if await while_connected(receive, listen):
            await self._chat.leaving.left(following)
        return self._answer()

    def _answer(self) -> Response:
        end = self._end
        if end is None:
            return Response(status_code=499)  # the client is gone, and nobody reads this
        text = end.text if end.state == "completed" and end.text else self._spoken.text
        self._remember(text)
        headers = self._told()
        if end.state != "completed":
            headers |= {"X-Hermes-Completed": "false", "X-Hermes-State": end.state}
        return Json(self._shapes.whole(text, end), headers=headers)

    # As a stream -----------------------------------------------------------------------

    async def _stream(self, following: Following, receive: Receive, send: Send) -> None:
        writer = EventWriter(send)

        async def tell() -> None:
            # Trouble before the run begins still has a status, and the head names the run.
            with trio.move_on_after(HEAD_WITHIN):
                await following.begin()
            await writer.head(self._told())
            await writer.write(self._first())
            try:
                last = await self._relay(following, writer)
            except (Complaint, Refusal) as no:
                following.over = True  # it is we who leave, so the run is not stopped
                last = event({"error": trouble(no)})
            await writer.close(last + DONE)

        if await while_connected(receive, tell):
            await self._chat.leaving.left(following)

    async def _relay(self, following: Following, writer: EventWriter) -> bytes:
        """Pass on what happens; what remains to be said when it is over."""
        steps = Collector(following, self._chat.keepalive)
        while True:
            batch = await steps.step()
            told = self._progress(batch) + self._content(batch, self._hear(batch))
            if self._end is not None:
                self._remember(self._spoken.text)
                return told + self._last(self._end)
            await writer.write(told if batch.items else KEEPALIVE)

    def _content(self, batch: Batch, words: str) -> bytes:
        if not words:
            return b""
        return event(self._shapes.chunk({"content": words}), id=batch.place)

    def _progress(self, batch: Batch) -> bytes:
        """What tools do, for those who asked: a plain client stumbles over such events."""
        if self._request.headers.get(EVENTS, "").strip().lower() != "tools":
            return b""
        told = (tool_progress(what) for what in batch.seen)
        return b"".join(event(each, name=PROGRESS) for each in told if each is not None)

    def _first(self) -> bytes:
        return event(self._shapes.chunk({"role": "assistant", "content": ""}))

    def _last(self, end: RunEnded) -> bytes:
        usage = event(self._shapes.usage_chunk(end)) if self._asked.wants_usage else b""
        return event(self._shapes.finish_chunk(end)) + usage

    # Both ------------------------------------------------------------------------------

    def _hear(self, batch: Batch) -> str:
        self._end = batch.end
        return self._spoken.hear(batch.seen)

    def _remember(self, text: str) -> None:
        self._chat.desk.remember(self._asked, text, self._taken)

    def _told(self) -> dict[str, str]:
        taken = self._taken
        told = {SESSION_ID: taken.session, SESSION_KEY: taken.names.scope}
        told[RUN_ID] = taken.following.run if taken.following else None
        return {name: value for name, value in told.items() if value is not None}

    async def _at_once(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Words that need no run: the answer to a command."""
        words = self._taken.words
        if not self._asked.stream:
            answer = Json(self._shapes.whole(words, None), headers=self._told())
            return await answer(scope, receive, send)
        writer, self._end = EventWriter(send), RunEnded("", "completed", "ok", words)
        await writer.head(self._told())
        await writer.write(self._first())
        content = event(self._shapes.chunk({"content": words}))
        await writer.close(content + self._last(self._end) + DONE)
