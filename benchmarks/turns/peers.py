"""Other gateways, measured in the same run with the same model: started, asked over HTTP, ended.

A peer is installed by hand into a virtual environment outside of this folder, whose path is in an
environment variable. What is measured is the CPU time of its process and of all its children while
it answers plain questions, one after the other, each a conversation of its own.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from statistics import median

import httpx  # noqa: ASYNC127  used through our own transport
import msgspec
import psutil  # type: ignore[import-untyped]  # it has no types of its own
import trio

from adapters.http_client import http_client
from benchmarks.child import figures
from benchmarks.result import Result, at_most
from benchmarks.rounds import Size
from benchmarks.store.house import folder
from benchmarks.table import number
from benchmarks.turns.cost import spend
from benchmarks.turns.model import fake_model
from benchmarks.turns.script import Script

KEY = "a-key-for-the-benchmark-0123456789"
_PATIENCE = 120.0
_WARM_UP = 4


class Start(msgspec.Struct, frozen=True):
    """How to start one: command and environment, for a home folder, a port and a model."""

    command: tuple[str, ...]
    environment: dict[str, str]


class Peer(msgspec.Struct, frozen=True):
    """Another gateway. `share` is the part of its cost that a turn may have here.

    `names_sessions`: without a name in the request, all questions are one long conversation.
    """

    name: str
    variable: str
    share: float
    start: Callable[[Path, Path, int, str], Start]
    names_sessions: bool = False


class NotInstalled(Exception):
    """The peer is not where it should be; the text says what to do."""


def _hermes(venv: Path, home: Path, port: int, model: str) -> Start:
    config = f"model:\n  default: fake\n  provider: custom\n  base_url: {model}\n  api_key: {KEY}\n"
    (home / "config.yaml").write_text(config, encoding="utf-8")
    environment = {
        "HERMES_HOME": str(home),
        "HOME": str(home),
        "API_SERVER_ENABLED": "true",
        "API_SERVER_KEY": KEY,
        "API_SERVER_PORT": str(port),
        "API_SERVER_HOST": "127.0.0.1",
    }
    return Start((str(venv / "bin" / "hermes"), "gateway", "run", "-q"), environment)


def _nanobot(venv: Path, home: Path, port: int, model: str) -> Start:
    config = {
        "agents": {
            "defaults": {
                "workspace": str(home / "ws"),
                "model": "fake",
                "provider": "custom",
                "dream": {"enabled": False},
            }
        },
        "providers": {"custom": {"apiKey": KEY, "apiBase": model}},
        "api": {"host": "127.0.0.1", "port": port, "timeout": 600},
    }
    (home / "ws").mkdir()
    file = home / "config.json"
    file.write_bytes(msgspec.json.encode(config))
    place = ("-c", str(file), "-w", str(home / "ws"), "--host", "127.0.0.1", "--port", str(port))
    return Start((str(venv / "bin" / "nanobot"), "serve", *place), {"HOME": str(home)})


PEERS = {
    peer.name: peer
    for peer in (
        Peer("hermes", "BENCH_HERMES", 1 / 40, _hermes),
        Peer("nanobot", "BENCH_NANOBOT", 1 / 15, _nanobot, names_sessions=True),
    )
}


def venv_of(peer: Peer, environment: Mapping[str, str] = os.environ) -> Path:
    """Where the peer is installed; `NotInstalled` if it is not."""
    named = environment.get(peer.variable, "")
    if not named or not (Path(named) / "bin").is_dir():
        raise NotInstalled(
            f"{peer.name} is not here: install it into a virtual environment of its own, outside "
            f"of this folder, and put the path of that into {peer.variable}"
        )
    return Path(named).absolute()


def measure(peer: Peer, size: Size) -> Iterator[Result]:
    """CPU per plain turn, ours and theirs in turns; the median of the ratios of neighbours."""
    venv, rounds, turns = venv_of(peer), min(size.rounds, 3), size.of(25, least=2)
    pairs = [
        (figures(spend, size.of(100), rounds)["plain"], trio.run(_theirs, peer, venv, turns))
        for _ in range(rounds)
    ]
    ours, theirs = median(our for our, _ in pairs), median(their for _, their in pairs)
    yield Result(
        name=f"CPU per plain turn, of {peer.name}'s",
        value=median(our / their for our, their in pairs) * 100,
        unit="%",
        target=at_most(peer.share * 100),
        beside=f"1/{number(median(their / our for our, their in pairs))}: {number(ours)} ms to "
        f"{number(theirs)} ms, theirs with their HTTP server",
    )


async def _theirs(peer: Peer, venv: Path, turns: int) -> float:
    with folder() as home:
        async with (
            fake_model() as model,
            _running(peer, venv, home, model.url) as (process, client),
        ):
            questions = (_question(peer, number) for number in itertools.count())
            for _ in range(_WARM_UP):
                await _ask(client, next(questions))
            begin = _spent(process)
            for _ in range(turns):
                await _ask(client, next(questions))
            return (_spent(process) - begin) / turns * 1000


@asynccontextmanager
async def _running(
    peer: Peer, venv: Path, home: Path, model: str
) -> AsyncIterator[tuple[psutil.Process, httpx.AsyncClient]]:
    port = await _free_port()
    start = peer.start(venv, home, port, model)
    process = await trio.lowlevel.open_process(
        start.command,
        env={**os.environ, **start.environment},
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    client = http_client(
        base_url=f"http://127.0.0.1:{port}", headers={"authorization": f"Bearer {KEY}"}
    )
    try:
        await _until_healthy(client, process)
        yield psutil.Process(process.pid), client
    finally:
        _end(process.pid)
        with trio.move_on_after(10, shield=True):
            await process.wait()
            await client.aclose()


async def _until_healthy(client: httpx.AsyncClient, process: trio.Process) -> None:
    with trio.fail_after(_PATIENCE):
        while process.poll() is None:
            try:
                if (await client.get("/health")).status_code == 200:
                    return
            except httpx.TransportError:
                pass  # not up yet
            await trio.sleep(0.05)
    raise NotInstalled(f"{process.args!r} ended with {process.returncode}")


def _question(peer: Peer, number: int) -> dict[str, object]:
    said = [{"role": "user", "content": Script().words()}]
    name = {"session_id": f"question{number}"} if peer.names_sessions else {}
    return {"model": "fake", "stream": False, "messages": said, **name}


async def _ask(client: httpx.AsyncClient, question: dict[str, object]) -> None:
    with trio.fail_after(_PATIENCE):
        answer = await client.post("/v1/chat/completions", json=question)
    answer.raise_for_status()


async def _free_port() -> int:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        port: int = listener.socket.getsockname()[1]
        return port


def _family(pid: int) -> list[psutil.Process]:
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _spent(process: psutil.Process) -> float:
    times = [each.cpu_times() for each in _family(process.pid)]
    return float(sum(each.user + each.system for each in times))


def _end(pid: int) -> None:
    """End it with everything that it has started."""
    for each in reversed(_family(pid)):
        with suppress(psutil.NoSuchProcess):
            each.kill()
