"""Every provider against a server that nobody here has written.

`make test` installs it beside the virtual environment. Where there is no Node, these tests are
skipped with a word about it, except where `CI` is set: there they fail.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from adapters.http_client import http_client
from adapters.models import Shared, make_model
from hermes_actors.config.schema import ModelSettings
from hermes_actors.config.secrets import Secret
from hermes_actors.ports import ModelFailed
from hermes_actors.values import (
    AssistantMessage,
    Delta,
    Message,
    ModelNotice,
    ModelReply,
    Reached,
    TextDelta,
    ToolMessage,
    UserMessage,
)
from tests.adapters.models.talk import ask

HERE = Path(__file__).parent
SERVER = Path(sys.prefix) / "node" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
PROVIDERS = ("openai", "openai_responses", "anthropic")
GREETING = "Good day to you, größer 🙂 than before."

pytestmark = pytest.mark.slow


class Mock:
    """The server, one provider that speaks with it, and what the reader has seen."""

    def __init__(self, url: str, provider: str) -> None:
        self.url, self.provider = url, provider
        self.shared = Shared(dice=lambda: 0.0)
        self.seen: list[Delta] = []

    async def ask(self, *messages: Message, **more: Any) -> ModelReply:
        base = self.url if self.provider == "anthropic" else f"{self.url}/v1"
        name = "claude-sonnet-4-5" if self.provider == "anthropic" else "gpt-5"
        common = {"provider": self.provider, "name": name, "api_key": Secret("k")}
        settings = ModelSettings(**{**common, "base_url": base, **more})
        return await make_model(settings, self.shared).respond(
            ask(*messages, model=""), self.seen.append
        )

    async def journal(self) -> list[Any]:
        async with http_client(base_url=self.url) as client:
            found: Any = (await client.get("/__aimock/journal")).json()
        return list(found if isinstance(found, list) else found["entries"])

    @property
    def words(self) -> str:
        return "".join(delta.text for delta in self.seen if isinstance(delta, TextDelta))


@pytest.fixture(scope="module")
def address() -> Any:
    node = shutil.which("node")
    if node is None or not SERVER.exists():
        why = "Node is missing" if node is None else "the server is missing: run `make test` once"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    command = [node, str(SERVER), "-p", "0", "-f", str(HERE / "fixtures.json"), "--strict"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert server.stdout is not None
        lines = []
        for line in server.stdout:
            lines.append(line)
            if "listening on " in line:
                break
        else:
            pytest.fail("".join(lines))
        yield lines[-1].split("listening on ")[1].strip()
        server.kill()


@pytest.fixture(params=PROVIDERS)
async def mock(address: str, request: Any) -> AsyncIterator[Mock]:
    mock = Mock(address, request.param)
    yield mock
    assert mock.shared.lanes.limiter.borrowed_tokens == 0
    await mock.shared.aclose()


async def test_words_are_streamed_and_counted(mock: Mock) -> None:
    reply = await mock.ask(UserMessage("greet me"))
    assert (reply.text, reply.finish_reason) == (GREETING, "stop")
    assert mock.words == GREETING
    assert len(mock.seen) > 5
    assert (reply.usage.input, reply.usage.output) == (11, 7)


async def test_two_calls_and_their_results_make_a_conversation(mock: Mock) -> None:
    asked = UserMessage("the weather, please")
    reply = await mock.ask(asked)
    assert [call.name for call in reply.tool_calls] == ["terminal", "terminal"]
    assert '"weather Rome"' in reply.tool_calls[0].arguments
    assert (reply.text, reply.finish_reason) == ("I will look.", "tool_calls")
    said = AssistantMessage(reply.text, reply.tool_calls, reply.reasoning, reply.opaque)
    results = (ToolMessage(call.id, "20 degrees") for call in reply.tool_calls)
    assert (await mock.ask(asked, said, *results)).text == "Rome is warm, Oslo is not."


async def test_thinking_is_kept_apart_and_taken_back(mock: Mock) -> None:
    asked = UserMessage("ponder this")
    reply = await mock.ask(asked, reasoning_effort="medium")
    assert "Let me think" not in reply.text
    assert reply.tool_calls
    assert reply.reasoning == "Let me think about that."
    said = AssistantMessage(reply.text, reply.tool_calls, reply.reasoning, reply.opaque)
    result = ToolMessage(reply.tool_calls[0].id, "a.txt")
    again = await mock.ask(asked, said, result, reasoning_effort="medium")
    assert again.text == "Done pondering."


async def test_signed_thoughts_that_were_lost_do_not_end_the_conversation(address: str) -> None:
    mock = Mock(address, "anthropic")
    asked = UserMessage("ponder this")
    reply = await mock.ask(asked, reasoning_effort="medium")
    assert reply.opaque
    forgetful = AssistantMessage(reply.text, reply.tool_calls)
    result = ToolMessage(reply.tool_calls[0].id, "a.txt")
    again = await mock.ask(asked, forgetful, result, reasoning_effort="medium")
    assert again.text == "Done pondering."
    await mock.shared.aclose()


async def test_a_refusal_is_understood(mock: Mock) -> None:
    with pytest.raises(ModelFailed, match="too quick") as failed:
        await mock.ask(UserMessage("refuse me"), tries=1)
    assert failed.value.kind == "rate_limited"


async def test_a_conversation_that_is_too_long_is_understood(mock: Mock) -> None:
    with pytest.raises(ModelFailed) as failed:
        await mock.ask(UserMessage("too long"))
    assert failed.value.kind == "context_overflow"


async def test_a_server_that_stumbles_once_is_asked_again(mock: Mock) -> None:
    assert (await mock.ask(UserMessage(f"stumble for {mock.provider}"))).text == "Up again."


async def test_an_answer_that_breaks_off_is_told_and_tried_again(mock: Mock) -> None:
    with pytest.raises(ModelFailed) as failed:
        await mock.ask(UserMessage("break off"), tries=2)
    assert failed.value.kind in ("unreachable", "bad_reply")
    notices = [delta for delta in mock.seen if isinstance(delta, ModelNotice)]
    assert [notice.restarts for notice in notices] == [True]


@pytest.mark.parametrize("words", ["hang up", "mumble"])
async def test_a_server_that_misbehaves_is_an_error_in_words(words: str, mock: Mock) -> None:
    with pytest.raises(ModelFailed) as failed:
        await mock.ask(UserMessage(words), tries=2)
    assert failed.value.kind in ("unreachable", "bad_reply")
    assert [delta for delta in mock.seen if not isinstance(delta, Reached)] == []


async def test_an_answer_that_was_cut_says_so(mock: Mock) -> None:
    assert (await mock.ask(UserMessage("be cut"))).finish_reason == "length"


async def test_a_stop_in_the_middle_is_a_stop(mock: Mock) -> None:
    heard = trio.Event()
    mock.seen = _Bell(heard)
    async with trio.open_nursery() as run:
        run.start_soon(mock.ask, UserMessage("talk slowly"))
        await heard.wait()
        run.cancel_scope.cancel()
    said = len(mock.seen)
    assert 0 < said < 10
    assert (await mock.ask(UserMessage("greet me"))).text == GREETING


async def test_the_server_was_told_what_it_was_meant_to_be_told(mock: Mock) -> None:
    await mock.ask(UserMessage("greet me"))
    entry = (await mock.journal())[-1]
    assert entry["body"]["stream"] is True
    assert entry["path"].split("/v1/")[1] in ("chat/completions", "responses", "messages")


class _Bell(list[Delta]):
    """A list that rings when words are put into it."""

    def __init__(self, event: trio.Event) -> None:
        super().__init__()
        self._event = event

    def append(self, delta: Delta) -> None:
        super().append(delta)
        if isinstance(delta, TextDelta):
            self._event.set()
