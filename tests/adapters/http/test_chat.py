"""Chat completions on a real socket: the shapes, the words, the conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio

from hermes_actors.actors.feed import Feed
from hermes_actors.config.adapters import ApiServerSettings
from hermes_actors.ports import ModelFailed
from hermes_actors.pure.agent_loop import LoopLimits
from hermes_actors.store import sessions
from hermes_actors.store.sessions import NewSession
from hermes_actors.testing.script import HANG, calls
from hermes_actors.values import Source, Usage, UserMessage
from tests.adapters.http.gateway import Answer, House, gateway, until
from tests.hermes_actors.actors.toolbox import Toolbox
from tests.hermes_actors.actors.world import World

NAMED = "X-Hermes-Session-Id: tea"


def shape(answer: Answer) -> list[Any]:
    """A stream in short: roles, words, finish, usage, errors, the end."""
    return [each if isinstance(each, str) else _short(each) for each in answer.events]


def _short(chunk: dict[str, Any]) -> Any:
    if not chunk.get("choices"):
        return chunk.get("usage") or chunk["error"]["code"]
    choice = chunk["choices"][0]
    told = choice["finish_reason"] or choice["delta"]
    return (told, chunk["error"]["code"]) if "error" in chunk else told


def heard(house: House) -> list[list[str]]:
    """What the model was told, call by call."""
    return [[each.text for each in call.messages] for call in house.world.model.requests]


def feed(house: House) -> Feed:
    """The feed of the only conversation that lives."""
    (key,) = house.world.sessions.live()
    return house.world.house.feeds.of(key)


async def test_an_answer_in_one_piece(tmp_path: Path) -> None:
    async with gateway(tmp_path, ["Good day.", Usage(input=5, output=2)]) as house:
        answer = await house.chat("hello", model="coder")
        assert answer.status == 200
        body = answer.json
        assert body.pop("id").startswith("chatcmpl-")
        assert body.pop("created") >= 1000
        assert body == {
            "object": "chat.completion",
            "model": "coder",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": "Good day.", "refusal": None},
                    "logprobs": None,
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
        }
        assert answer.headers["x-hermes-run-id"].startswith("run-")
        assert answer.headers["x-hermes-session-id"].startswith("api-")


async def test_a_stream_begins_with_the_role_and_ends_with_done(tmp_path: Path) -> None:
    line = ["Good ", "day.", Usage(input=5, output=2)]
    async with gateway(tmp_path, line, line) as house:
        plain = await house.chat("hello", stream=True)
        assert shape(plain)[0] == {"role": "assistant", "content": ""}
        assert shape(plain)[-2:] == ["stop", "[DONE]"]
        assert plain.content == "Good day."
        assert plain.headers["content-type"] == "text/event-stream; charset=utf-8"
        counted = await house.chat("hello", stream="yes", stream_options={"include_usage": True})
        assert shape(counted)[-3:] == [
            "stop",
            {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
            "[DONE]",
        ]
        chunks = [each for each in counted.events if isinstance(each, dict)]
        assert len({(each["id"], each["created"], each["object"]) for each in chunks}) == 1


async def test_words_before_and_after_a_tool_are_two_paragraphs(tmp_path: Path) -> None:
    async def look(_: dict[str, Any]) -> str:
        return "four"

    def give_hands(world: World) -> None:
        world.tools = Toolbox(look=look)

    script = ["Let me look.", calls("look")], "It is four."
    async with gateway(tmp_path, *script, prepare=give_hands) as house:
        assert (await house.chat("2+2?", stream=True)).content == "Let me look.\n\nIt is four."


async def test_what_tools_do_is_told_only_to_those_who_ask(tmp_path: Path) -> None:
    async def look(_: dict[str, Any]) -> str:
        return "four"

    def give_hands(world: World) -> None:
        world.tools = Toolbox(look=look)

    script = [calls("look", at="it")], "Four."
    async with gateway(tmp_path, *script, *script, prepare=give_hands) as house:
        plain = await house.chat("2+2?", stream=True)
        assert all("choices" in each for each in plain.events[:-1])
        curious = await house.chat("2+2?", "X-Hermes-Events: tools", stream=True)
        told = [each for each in curious.events[:-1] if "tool" in each]
        assert [(each["tool"], each["status"]) for each in told] == [
            ("look", "running"),
            ("look", "completed"),
        ]
        assert curious.body.count(b"event: hermes.tool.progress") == 2
        assert curious.content == plain.content == "Four."


async def test_a_halt_is_told_in_words_before_it_is_a_finish(tmp_path: Path) -> None:
    async def fails(_: dict[str, Any]) -> str:
        raise ValueError("no")

    def prepare(world: World) -> None:
        world.tools = Toolbox(fails=fails)
        world.loop = LoopLimits(max_iterations=50)

    script = [[calls("fails", x=1)] for _ in range(30)]
    async with gateway(tmp_path, *script, prepare=prepare) as house:
        answer = await house.chat("try", stream=True)
        told, events = answer.content, shape(answer)
        assert "fails" in told
        assert "repeated_exact_failure_block" in told
        assert events[-2:] == ["length", "[DONE]"]
        assert answer.events[-2]["hermes"]["reason"] == "guardrail"


async def test_a_failure_is_words_then_an_error_and_never_looks_like_an_answer(
    tmp_path: Path,
) -> None:
    down = ModelFailed("unauthorized", "the provider does not know the key")
    async with gateway(tmp_path, down, down) as house:
        streamed = await house.chat("hello", stream=True)
        assert "the provider does not know the key" in streamed.content
        assert shape(streamed)[-2:] == [("error", "run_failed"), "[DONE]"]
        whole = await house.chat("hello")
        assert whole.status == 200
        assert whole.headers["x-hermes-completed"] == "false"
        choice = whole.json["choices"][0]
        assert choice["finish_reason"] == "error"
        assert "the provider does not know the key" in choice["message"]["content"]
        assert whole.json["hermes"]["state"] == "failed"


async def test_a_command_is_answered_without_a_run(tmp_path: Path) -> None:
    async with gateway(tmp_path) as house:
        whole = await house.chat("/stop", NAMED)
        assert whole.json["choices"][0]["message"]["content"] == "nothing to stop"
        streamed = await house.chat("/stop", NAMED, stream=True)
        assert shape(streamed)[1:] == [{"content": "nothing to stop"}, "stop", "[DONE]"]
        assert house.world.model.requests == []


async def test_text_parts_are_joined(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    asked = {"messages": [{"role": "user", "content": parts}]}
    async with gateway(tmp_path, "yes") as house:
        await house.ask("POST", "/v1/chat/completions", body=asked)
        assert heard(house) == [["one\ntwo"]]


# Which conversation -----------------------------------------------------------------------------


async def test_a_named_conversation_goes_on_and_ignores_what_the_client_remembers(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, "one", "two") as house:
        first = await house.chat("a", NAMED)
        assert first.headers["x-hermes-session-id"] == "tea"
        await house.ask("POST", "/v1/chat/completions", NAMED, body=said("u:lies", "a:lies", "u:b"))
        assert heard(house) == [["a"], ["a", "one", "b"]]


async def test_a_new_conversation_begins_with_what_the_client_remembers(tmp_path: Path) -> None:
    async with gateway(tmp_path, "one") as house:
        body = said("s:be kind", "u:a", "a:b", "u:c")
        await house.ask("POST", "/v1/chat/completions", NAMED, body=body)
        assert heard(house) == [["[Instructions of the application]\nbe kind\n\na", "b", "c"]]


async def test_those_who_open_alike_do_not_meet_and_yet_each_goes_on(tmp_path: Path) -> None:
    async with gateway(tmp_path, "one", "two", "three", "four") as house:
        ann = (await house.chat("hello")).headers["x-hermes-session-id"]
        bob = (await house.chat("hello")).headers["x-hermes-session-id"]
        assert ann != bob
        assert ann[:20] == bob[:20]
        on = await house.ask(
            "POST", "/v1/chat/completions", body=said("u:hello", "a:two", "u:and?")
        )
        assert on.headers["x-hermes-session-id"] == bob
        # The same question again: the client has gone back, so this is another conversation.
        back = await house.ask(
            "POST", "/v1/chat/completions", body=said("u:hello", "a:two", "u:or?")
        )
        assert back.headers["x-hermes-session-id"] not in (ann, bob)
        assert heard(house)[2:] == [["hello", "two", "and?"], ["hello", "two", "or?"]]


async def test_the_same_words_of_another_person_or_in_a_named_conversation_do_not_count(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, *("one",) * 5) as house:
        on = said("u:hello", "a:one", "u:and?")
        await house.chat("hello", NAMED)
        first = await house.ask("POST", "/v1/chat/completions", body=on)
        assert first.headers["x-hermes-session-id"] != "tea"
        ann = (await house.chat("hello", "X-Hermes-User-Id: ann")).headers
        for header, same in (("X-Hermes-User-Id: bob", False), ("X-Hermes-User-Id: ann", True)):
            answer = await house.ask("POST", "/v1/chat/completions", header, body=on)
            goes_on = answer.headers["x-hermes-session-id"] == ann["x-hermes-session-id"]
            assert goes_on is same, header


async def test_routing_headers_reach_the_router_and_the_key_is_echoed(tmp_path: Path) -> None:
    async with gateway(tmp_path, "hi", "hi") as house:
        sources: list[Source] = []

        def select(**event: Any) -> str | None:
            sources.append(Source(event["platform"], event["chat_id"], user_id=event["user_id"]))
            return "coder" if event["chat_id"] == "kitchen" else None

        house.world.bus.register("select_agent", select, owner="test")
        answer = await house.chat(
            "hello", "X-Hermes-Chat-Id: kitchen", "X-Hermes-User-Id: u1", "X-Hermes-Session-Key: k"
        )
        assert sources == [Source("api_server", "kitchen", user_id="u1")]
        assert answer.headers["x-hermes-session-key"] == "k"
        assert house.world.sessions.live() == ["agent:coder:api_server:dm:kitchen"]
        named = await house.chat("hello", "X-Hermes-Chat-Id: kitchen", "X-Hermes-Session-Id: s1")
        assert named.headers["x-hermes-session-id"] == "s1"
        assert "agent:coder:api_server:dm:kitchen:s1" in house.world.sessions.live()


async def test_a_conversation_can_be_named_by_the_id_under_which_it_is_listed(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path, "one", "two") as house:
        await house.chat("a", NAMED)
        await house.chat("b", "X-Hermes-Session-Id: session-1")
        assert heard(house)[1] == ["a", "one", "b"]
        elsewhere = NewSession(
            id="s-x", session_key="agent:main:test:dm:c1", agent_id="main", platform="test"
        )
        await house.world.store.write(sessions.create(elsewhere, now=1.0))
        refused = await house.chat("b", "X-Hermes-Session-Id: s-x")
        assert refused.error == (409, "session_elsewhere", "X-Hermes-Session-Id")


# Repeats and limits -------------------------------------------------------------------------------


async def test_the_same_key_is_the_same_run_and_another_body_is_refused(tmp_path: Path) -> None:
    key = "Idempotency-Key: once"
    async with gateway(tmp_path, "one", "two") as house:
        first = await house.chat("a", key)
        again = await house.chat("a", key)
        assert again.json["choices"] == first.json["choices"]
        assert again.json["id"] == first.json["id"]
        assert again.headers["x-hermes-session-id"] == first.headers["x-hermes-session-id"]
        other = await house.chat("b", key)
        assert other.error == (409, "idempotency_conflict", "Idempotency-Key")
        elsewhere = await house.chat("a", key, NAMED)
        assert elsewhere.error == (409, "idempotency_conflict", "Idempotency-Key")
        assert len(house.world.model.requests) == 1


async def test_a_repeat_while_the_run_goes_on_joins_it_from_the_beginning(tmp_path: Path) -> None:
    key = "Idempotency-Key: once"
    gate = trio.Event()

    async def wait(_: dict[str, Any]) -> str:
        await gate.wait()
        return "open"

    def prepare(world: World) -> None:
        world.tools = Toolbox(wait=wait)

    answers: list[Answer] = []
    script = ["Wait.", calls("wait")], "Done."
    async with gateway(tmp_path, *script, prepare=prepare) as house:

        async def ask() -> None:
            answers.append(await house.chat("a", key, stream=True))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await until(lambda: house.world.tools.called)
            nursery.start_soon(ask)
            await until(lambda: len(feed(house)._readers) == 2)
            gate.set()
        assert [each.content for each in answers] == ["Wait.\n\nDone."] * 2


async def test_a_repeat_after_a_restart_is_answered_from_what_was_stored(tmp_path: Path) -> None:
    key = "Idempotency-Key: once"
    async with gateway(tmp_path, "one") as house:
        await house.chat("a", key, stream=True)
    async with gateway(tmp_path) as house:
        again = await house.chat("a", key, stream=True)
        assert again.content == "one"
        assert shape(again)[-2:] == ["stop", "[DONE]"]


async def test_there_are_only_so_many_open_questions(tmp_path: Path) -> None:
    settings = ApiServerSettings(max_concurrent_runs=1)
    async with gateway(tmp_path, [HANG], "free", settings=settings) as house:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.chat, "a")
            await until(lambda: house.world.model.requests)
            full = await house.chat("b")
            assert full.error == (429, "rate_limit_exceeded", None)
            assert full.headers["retry-after"] == "1"
            nursery.cancel_scope.cancel()
        await house.heard.wait()
        assert (await house.chat("c")).status == 200


async def test_a_gateway_that_is_going_down_takes_no_questions(tmp_path: Path) -> None:
    async with gateway(tmp_path) as house:
        house.facts.status = "stopping"
        assert (await house.chat("a")).error == (503, "gateway_draining", None)


async def test_two_requests_on_one_conversation_never_interleave(tmp_path: Path) -> None:
    answers: list[str] = []
    async with gateway(tmp_path, "a b c d", "e f g h", "i j k l") as house:
        house.world.model._delay = 0.005

        async def ask(text: str) -> None:
            answers.append((await house.chat(text, NAMED, stream=True)).content)

        async with trio.open_nursery() as nursery:
            for text in ("1", "2", "3"):
                nursery.start_soon(ask, text)
        assert sorted(answers) == ["a b c d", "e f g h", "i j k l"]
        assert [len(call.messages) for call in house.world.model.requests] == [1, 3, 5]
        assert all(
            isinstance(call.messages[-1], UserMessage) for call in house.world.model.requests
        )


def said(*lines: str) -> dict[str, Any]:
    """A request from lines such as `u:hello`."""
    roles = {"u": "user", "a": "assistant", "s": "system"}
    return {"messages": [{"role": roles[line[0]], "content": line[2:]} for line in lines]}
