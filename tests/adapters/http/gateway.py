"""A whole gateway behind a real socket, and a client that speaks plain bytes to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import trio

from adapters.http.app import make_app
from hermes_actors.actors.driver import drive
from hermes_actors.actors.feed import Reader
from hermes_actors.actors.services import Services
from hermes_actors.actors.session import StopRun
from hermes_actors.config.adapters import ApiServerSettings
from hermes_actors.runtime import Node
from hermes_actors.store.operation import reads
from hermes_actors.store.sql import Sql, run
from tests.adapters.http.serving import Running, serving
from tests.hermes_actors.actors.world import World, living_world

KEY = "a-key-of-some-length"
LOCKED = f"Authorization: Bearer {KEY}"
HELLO = {"messages": [{"role": "user", "content": "hello"}]}


class Facts:
    """What the gateway tells about itself."""

    status = "ok"

    def health(self) -> dict[str, Any]:
        return {"status": self.status, "version": "1"}

    def tree(self) -> Node:
        return Node(name="gateway", kind="double", state="running")


class Answer(msgspec.Struct):
    """A response, read to its end."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str, str | None]:
        """Status, code and what is at fault."""
        error = self.json["error"]
        return self.status, error["code"], error["param"]

    @property
    def events(self) -> list[Any]:
        """The data of every event; what is not JSON as text."""
        lines = [line[6:] for line in self.body.decode().splitlines() if line.startswith("data: ")]
        return [line if line == "[DONE]" else json.loads(line) for line in lines]

    @property
    def content(self) -> str:
        """The words of a streamed answer."""
        chunks = [each for each in self.events if isinstance(each, dict) and each.get("choices")]
        return "".join(each["choices"][0]["delta"].get("content", "") for each in chunks)


class House:
    """The gateway under test."""

    def __init__(self, world: World, server: Running, facts: Facts, services: Services) -> None:
        self.world, self.server, self.facts, self.services = world, server, facts, services
        self.stopped: list[tuple[str, str]] = []
        self.withdrawn: list[str] = []
        self.heard = trio.Event()
        world.bus.register("agent_loop_stopped", self._on_stopped, owner="test")
        world.bus.register("message_withdrawn", self._on_withdrawn, owner="test")

    async def _on_stopped(self, **event: Any) -> None:
        self.stopped.append((event["run_id"], event["cause"]))
        self.heard.set()

    async def _on_withdrawn(self, **event: Any) -> None:
        self.withdrawn.append(event["reason"])
        self.heard.set()

    def stop(self, key: str) -> None:
        """End what runs there, so that the end of the test need not wait for it."""
        self.world.sessions.ref(key).signal(StopRun("user_stop"))

    def readers(self, key: str) -> list[Reader]:
        """Who reads along in a conversation."""
        return self.world.house.feeds.of(key)._readers

    async def settled(self) -> list[tuple[str | None, str]]:
        """Every message with its run and its end, once nothing is open and nobody waits."""
        while True:
            rows = await self.world.store.read(_all_messages())
            ended = all(state not in ("queued", "claimed") for _, state in rows)
            if rows and ended and not any(map(self.readers, self.world.sessions.live())):
                return rows
            await trio.sleep(0.005)

    async def open(self, request: bytes) -> trio.SocketStream:
        stream = await trio.open_tcp_stream("127.0.0.1", self.server.port)
        await stream.send_all(request)
        return stream

    async def ask(self, method: str, path: str, *headers: str, body: Any = None) -> Answer:
        """One request with the key."""
        return await self.bare(request(method, path, LOCKED, *headers, body=body))

    async def bare(self, data: bytes) -> Answer:
        """One request, byte by byte as given."""
        return answer(await self.server.raw(data))

    async def chat(self, text: str, *headers: str, **fields: Any) -> Answer:
        """A question to chat completions."""
        asked = {"messages": [{"role": "user", "content": text}], **fields}
        return await self.ask("POST", "/v1/chat/completions", *headers, body=asked)


@reads
def _all_messages(sql: Sql) -> list[tuple[str | None, str]]:
    return [(run_id, state) for run_id, state in run(sql, "SELECT run_id, state FROM inbox")]


async def until(holds: Callable[[], object]) -> None:
    """Wait for something that no event tells: what the other end of a socket has done."""
    while not holds():  # noqa: ASYNC110  see above
        await trio.sleep(0.001)


def request(method: str, path: str, *headers: str, body: Any = None) -> bytes:
    """A request as bytes; the server closes after it."""
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: here", "Connection: close", *headers]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + data


def answer(raw: bytes) -> Answer:
    """A response as its parts."""
    head, _, body = raw.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    if headers.get("transfer-encoding") == "chunked":
        body = _unchunked(body)
    return Answer(int(status.split()[1]), headers, body)


def _unchunked(body: bytes) -> bytes:
    found = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        found, body = found + rest[:length], rest[length + 2 :]
    return found


@asynccontextmanager
async def gateway(
    folder: Path,
    *lines: Any,
    settings: ApiServerSettings | None = None,
    stall: float = 20.0,
    patience: float = 10.0,
    finish: float = 10.0,
    prepare: Callable[[World], None] = lambda world: None,
    agents: tuple[str, ...] = ("main", "coder"),
) -> AsyncIterator[House]:
    """A gateway whose model says these lines."""
    async with living_world(folder / "db", drive, prepare=prepare) as world:
        world.model.script(*lines)
        facts = Facts()
        services = Services(world.house, world.sessions, world.router, agents)
        app = make_app(facts, KEY, services, settings, patience=patience)
        async with serving(app, stall=stall, finish=finish) as server:
            with trio.fail_after(30):  # noqa: ASYNC100  the test is inside
                yield House(world, server, facts, services)
