"""The rooms are kept, and whoever trespasses is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rooms import adapters, sources, trespasses

ROOT = Path(__file__).parent.parent
PURE, KERNEL = "hermes_actors/pure/x.py", "hermes_actors/runtime/x.py"
CORE, TELEGRAM = "hermes_actors/actors/x.py", "adapters/chat/telegram/x.py"
OPENAI, SUPERVISOR = "adapters/models/openai/x.py", "supervisors/x.py"
KNOWN = frozenset({"chat/telegram", "chat/discord", "models/openai", "http", "cli"})


def test_every_file_is_in_its_room_and_free_of_forbidden_habits() -> None:
    files = list(sources(ROOT))
    known = adapters(path for path, _ in files)
    found = [each for path, text in files for each in trespasses(path, text, known)]
    assert not found, "\n".join(["", *map(str, found)])


def test_all_three_rooms_are_read() -> None:
    rooms = {path.split("/")[0] for path, _ in sources(ROOT)}
    assert rooms == {"hermes_actors", "adapters", "supervisors"}


def test_adapters_are_found_by_their_folders() -> None:
    paths = ["adapters/http_client.py", "adapters/models/sse.py", "adapters/models/openai/x.py"]
    assert adapters([*paths, "adapters/http/api/x.py", CORE]) == {"models/openai", "http"}


@pytest.mark.parametrize(
    ("path", "line", "why"),
    [
        (CORE, "import adapters.http", "must not know 'adapters'"),
        (CORE, "from supervisors.policy import Limit", "must not know 'supervisors'"),
        (TELEGRAM, "from supervisors import tree", "must not know 'supervisors'"),
        (TELEGRAM, "from adapters.chat.discord.wire import Frame", "must not know adapter"),
        (TELEGRAM, "from adapters.chat.discord import wire", "must not know adapter"),
        (TELEGRAM, "from ..discord import wire", "must not know adapter"),
        (TELEGRAM, "import adapters.models.sse", "must not know adapter"),
        (TELEGRAM, "from adapters.http.server import Server", "must not know adapter"),
        ("adapters/cli/x.py", "from adapters.http.server import Server", "must not know adapter"),
        ("adapters/http_client.py", "from adapters.models import sse", "must not know adapter"),
        (PURE, "import trio", "does not know 'trio'"),
        (PURE, "import trio.testing", "does not know 'trio'"),
        (PURE, "from httpx import Client", "does not know 'httpx'"),
        (PURE, "import time", "does not know 'time'"),
        (PURE, "import os.path", "does not know 'os'"),
        (PURE, "from random import random", "does not know 'random'"),
        (PURE, "from hermes_actors.runtime import Ref", "has no actors in it"),
        (PURE, "from hermes_actors import runtime", "has no actors in it"),
        (PURE, "def f():\n    import time", "does not know 'time'"),
        (PURE, "now = datetime.now()", "is told the time"),
        (PURE, "now = datetime.datetime.utcnow()", "is told the time"),
        (PURE, "day = date.today", "is told the time"),
        (KERNEL, "from hermes_actors.store import Store", "the kernel knows no domain"),
        (KERNEL, "from hermes_actors import hooks", "the kernel knows no domain"),
        (KERNEL, "from hermes_actors.pure.backoff import Backoff", "the kernel knows no domain"),
        (SUPERVISOR, "import asyncio", "no place beside Trio"),
        (SUPERVISOR, "from asyncio.events import loop", "no place beside Trio"),
        (CORE, "trio.lowlevel.spawn_system_task(f)", "has no parent"),
        (CORE, "from trio.lowlevel import spawn_system_task\nspawn_system_task(f)", "no parent"),
        (CORE, "os.environ['A'] = 'b'", "belongs to everybody"),
        (CORE, "environ['A'] = 'b'", "belongs to everybody"),
        (CORE, "os.environ.update(a='b')", "belongs to everybody"),
        (CORE, "os.putenv('A', 'b')", "belongs to everybody"),
        (CORE, "a, b = trio.open_memory_channel(math.inf)", "without a bound"),
        (CORE, "a, b = trio.open_memory_channel[int](float('inf'))", "without a bound"),
        (CORE, "try:\n    f()\nexcept BaseException:\n    pass", "raises nothing"),
        (CORE, "try:\n    f()\nexcept:\n    pass", "raises nothing"),
        (CORE, "try:\n    f()\nexcept (A, BaseException):\n    pass", "raises nothing"),
        (CORE, "try:\n    f()\nexcept BaseException:  # noqa: BLE001\n    pass", "no reason"),
        (CORE, "async def f():\n    a, b = open_memory_channel(1)\n    async with a: ...", "hides"),
    ],
)
def test_a_planted_trespass_is_noticed_where_it_stands(path: str, line: str, why: str) -> None:
    found = trespasses(path, line, KNOWN)
    assert len(found) == 1, found
    assert why in str(found[0])


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (CORE, "import trio\nfrom hermes_actors.runtime import Ref"),
        (TELEGRAM, "from adapters.chat.telegram.wire import Frame\nfrom . import wire"),
        (TELEGRAM, "from adapters.chat.base import Surface\nfrom adapters import http_client"),
        (TELEGRAM, "from adapters.http_client import client\nfrom hermes_actors import ports"),
        (OPENAI, "from adapters.models.sse import events"),
        ("adapters/models/factory.py", "from adapters.models.openai.client import Client"),
        ("adapters/http/app.py", "from adapters.http.api.routes import routes"),
        ("adapters/http_client.py", "from adapters.http_dial import dial"),
        (SUPERVISOR, "from adapters.chat.telegram import actor\nimport hermes_actors.store"),
        (PURE, "from datetime import datetime\nfrom zoneinfo import ZoneInfo\nimport msgspec"),
        (PURE, "from hermes_actors.values import Source\nfrom hermes_actors.pure import routing"),
        (KERNEL, "from hermes_actors.errors import Refusal\nfrom hermes_actors.journal import J"),
        ("adapters/chat/livekit/thread.py", "import asyncio"),
        (CORE, "home = os.environ['HOME']\nenv = dict(os.environ)\nenv['A'] = 'b'"),
        (CORE, "a, b = trio.open_memory_channel(8)\nwith a:\n    ..."),
        (CORE, "try:\n    f()\nexcept BaseException:\n    g()\n    raise"),
        (CORE, "try:\n    f()\nexcept BaseException:  # noqa: BLE001  it is raised below\n    g()"),
        (CORE, "try:\n    f()\n# It goes on.\nexcept BaseException:  # noqa: BLE001\n    g()"),
        (CORE, "try:\n    f()\nexcept Exception:\n    pass"),
    ],
)
def test_what_is_allowed_is_not_noticed(path: str, line: str) -> None:
    assert trespasses(path, line, KNOWN) == []
