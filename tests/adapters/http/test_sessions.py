"""Conversations over HTTP: listed, read, searched."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.http.gateway import gateway


async def test_conversations_are_listed_newest_first_in_pages(tmp_path: Path) -> None:
    async with gateway(tmp_path, "one", "two", "three") as house:
        for name in ("a", "b", "c"):
            await house.chat(f"about {name}", f"X-Hermes-Session-Id: {name}")
        page = (await house.ask("GET", "/api/sessions?limit=2")).json
        assert [each["session_key"][-1] for each in page["data"]] == ["c", "b"]
        assert (page["limit"], page["offset"], page["has_more"]) == (2, 0, True)
        rest = (await house.ask("GET", "/api/sessions?limit=2&offset=2")).json
        assert [each["session_key"][-1] for each in rest["data"]] == ["a"]
        assert rest["has_more"] is False
        assert (await house.ask("GET", "/api/sessions?source=none")).json["data"] == []
        shown = rest["data"][0]
        assert "system_prompt" not in shown
        assert shown["has_system_prompt"] is False


async def test_what_was_said_is_read_in_order_and_in_pages(tmp_path: Path) -> None:
    async with gateway(tmp_path, "one", "two") as house:
        await house.chat("first", "X-Hermes-Session-Id: a")
        await house.chat("second", "X-Hermes-Session-Id: a")
        (session,) = (await house.ask("GET", "/api/sessions")).json["data"]
        path = f"/api/sessions/{session['id']}"
        whole = (await house.ask("GET", f"{path}/messages")).json
        lines = [(each["role"], each["content"]) for each in whole["data"]]
        assert lines == [
            ("user", "first"),
            ("assistant", "one"),
            ("user", "second"),
            ("assistant", "two"),
        ]
        assert whole["session_id"] == session["id"]
        last = (await house.ask("GET", f"{path}/messages?limit=1")).json
        assert ([each["content"] for each in last["data"]], last["has_more"]) == (["two"], True)
        before = last["data"][0]["id"]
        older = (await house.ask("GET", f"{path}/messages?limit=9&before={before}")).json
        assert [each["content"] for each in older["data"]] == ["first", "one", "second"]
        assert (await house.ask("GET", path)).json["session"]["message_count"] == 4


async def test_words_are_found_wherever_they_were_said(tmp_path: Path) -> None:
    async with gateway(tmp_path, "Try a samovar.", "No idea.") as house:
        await house.chat("tea?", "X-Hermes-Session-Id: a")
        await house.chat("coffee?", "X-Hermes-Session-Id: b")
        found = (await house.ask("GET", "/api/sessions/search?q=samovar")).json["data"]
        assert [each["snippet"] for each in found] == ["Try a >>>samovar<<<."]
        nonsense = await house.ask("GET", "/api/sessions/search?q=%22%28%29AND%20NOT%20%2A")
        assert nonsense.json["data"] == []


async def test_a_query_that_makes_no_sense_names_its_field(tmp_path: Path) -> None:
    async with gateway(tmp_path) as house:
        for query, param in (
            ("limit=-1", "limit"),
            ("offset=x", "offset"),
            ("limit=%C2%B2", "limit"),
        ):
            answer = await house.ask("GET", f"/api/sessions?{query}")
            assert answer.error == (400, "invalid_query", param)
        assert (await house.ask("GET", f"/api/sessions?limit={'9' * 400}")).status == 200
        assert (await house.ask("GET", "/api/sessions/search?q=")).error[2] == "q"
