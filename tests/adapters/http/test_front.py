"""What every request meets first: the key, the limits, and headers that protect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from starlette.routing import Route

from adapters.http.app import make_routes
from adapters.http.front import OPEN
from adapters.http.open_streams import OpenStreams
from hermes_actors.config.adapters import ApiServerSettings
from tests.adapters.http.gateway import HELLO, KEY, LOCKED, House, gateway, request

# Every route and method with what the right key gets. A route that is not here fails the test.
WITH_THE_KEY = {
    ("GET", "/health"): 200,
    ("GET", "/v1/health"): 200,
    ("GET", "/api/tree"): 200,
    ("GET", "/v1/models"): 200,
    ("GET", "/v1/models/{model}"): 404,
    ("GET", "/v1/capabilities"): 200,
    ("POST", "/v1/chat/completions"): 400,
    ("GET", "/v1/runs/{run}"): 404,
    ("GET", "/v1/runs/{run}/events"): 404,
    ("POST", "/v1/runs/{run}/stop"): 404,
    ("GET", "/api/sessions"): 200,
    ("GET", "/api/sessions/search"): 400,
    ("GET", "/api/sessions/{session}"): 404,
    ("GET", "/api/sessions/{session}/messages"): 404,
}
UPGRADE = b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nx"


def rows(house: House) -> dict[tuple[str, str], int]:
    """What the router itself has."""
    found = {}
    routes: list[Route] = make_routes(
        house.facts, house.services, ApiServerSettings(), OpenStreams()
    )
    for route in routes:
        for method in (route.methods or set()) - {"HEAD"}:
            found[method, route.path] = WITH_THE_KEY.get((method, route.path), 0)
    return found


async def test_every_route_needs_the_key_except_those_that_say_so(tmp_path: Path) -> None:
    async with gateway(tmp_path) as house:
        assert rows(house) == WITH_THE_KEY
        for (method, path), right in WITH_THE_KEY.items():
            where = path.replace("{", "no-such-").replace("}", "")
            with_body: Any = {} if method == "POST" else None
            none = await house.bare(request(method, where, body=with_body))
            wrong = await house.bare(
                request(method, where, "Authorization: Bearer wrong-key", body=with_body)
            )
            basic = await house.bare(
                request(method, where, f"Authorization: Basic {KEY}", body=with_body)
            )
            known = await house.ask(method, where, body=with_body)
            locked = 200 if path in OPEN else 401
            got = none.status, wrong.status, basic.status, known.status
            assert got == (locked, locked, locked, right), (method, path)


async def test_a_refusal_for_the_key_has_the_shape_that_clients_read(tmp_path: Path) -> None:
    async with gateway(tmp_path) as house:
        answer = await house.bare(request("GET", "/v1/models"))
        assert answer.json == {
            "error": {
                "message": "Send the gateway's key: 'Authorization: Bearer <key>'.",
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_api_key",
            }
        }
        assert answer.headers["www-authenticate"] == "bearer"
        nothing = await house.bare(request("GET", "/nothing"))
        assert nothing.status == 401, "who has no key cannot find out what exists"


async def test_health_is_open_to_all_and_says_503_unless_all_is_well(tmp_path: Path) -> None:
    async with gateway(tmp_path) as house:
        well = await house.bare(request("GET", "/health"))
        assert (well.status, well.json) == (200, {"status": "ok", "version": "1"})
        house.facts.status = "stopping"
        ill = await house.bare(request("GET", "/health"))
        assert (ill.status, ill.json) == (503, {"status": "stopping", "version": "1"})


async def test_what_is_not_there_is_refused_in_json(tmp_path: Path) -> None:
    async with gateway(tmp_path) as house:
        assert (await house.ask("GET", "/nothing")).error == (404, "not_found", None)
        assert (await house.ask("DELETE", "/health")).error == (405, "method_not_allowed", None)


async def test_every_answer_has_its_own_id_and_the_headers_that_protect(tmp_path: Path) -> None:
    async with gateway(tmp_path, "hi", "hi") as house:
        answers = [
            await house.bare(request("GET", "/health")),
            await house.bare(request("GET", "/api/tree")),
            await house.ask("GET", "/nothing"),
            await house.chat("hello"),
            await house.chat("hello", stream=True),
        ]
        assert len({each.headers["x-request-id"] for each in answers}) == len(answers)
        for each in answers:
            assert each.headers["x-content-type-options"] == "nosniff"
            assert each.headers["x-frame-options"] == "deny"
            assert each.headers["content-security-policy"].startswith("default-src 'none'")
            assert each.headers["cache-control"] == "no-store"


async def test_a_host_is_checked_only_where_hosts_are_configured(tmp_path: Path) -> None:
    settings = ApiServerSettings(allowed_hosts=("Here", "::1"))
    async with gateway(tmp_path, settings=settings) as house:
        for host, status in (("here", 200), ("HERE:80", 200), ("[::1]:80", 200), ("evil", 421)):
            raw = request("GET", "/health").replace(b"Host: here", f"Host: {host}".encode())
            assert (await house.bare(raw)).status == status, host


async def test_a_body_is_bounded_whether_it_says_its_length_or_not(tmp_path: Path) -> None:
    settings = ApiServerSettings(body_bytes=1000)
    large = b'{"messages": "' + b"x" * 2000 + b'"}'
    async with gateway(tmp_path, settings=settings) as house:
        told = await house.ask("POST", "/v1/chat/completions", body=large)
        assert told.error == (413, "body_too_large", None)
        head = request("POST", "/v1/chat/completions", LOCKED, "Transfer-Encoding: chunked")
        untold = await house.bare(head + b"7d0\r\n" + large[:2000] + b"\r\n0\r\n\r\n")
        assert untold.error == (413, "body_too_large", None)


async def test_a_body_that_stops_in_the_middle_is_answered_and_let_go(tmp_path: Path) -> None:
    async with gateway(tmp_path, patience=0.05) as house:
        half = request("POST", "/v1/chat/completions", LOCKED, body=HELLO)[:-5]
        assert (await house.bare(half)).error == (408, "body_too_slow", None)


DEEP = b"[" * 100_000
MALFORMED: list[tuple[Any, tuple[int, str, str | None]]] = [
    (b"", (400, "invalid_json", None)),
    (b"{", (400, "invalid_json", None)),
    (b"\xff\xfe", (400, "invalid_json", None)),
    (b'{"messages": ' + DEEP, (400, "invalid_value", "messages[0]")),
    (b'{"x": ' + DEEP, (400, "invalid_json", None)),
    (b'{"messages": [{"role": "user", "content": "\\ud800"}]}', (400, "invalid_json", None)),
    (b'{"messages": [{"role": "user", "content": "\xff"}]}', (400, "invalid_json", None)),
    ([], (400, "invalid_value", None)),
    ({}, (400, "invalid_value", None)),
    ({"messages": []}, (400, "invalid_value", "messages")),
    ({"messages": "hello"}, (400, "invalid_value", "messages")),
    ({"messages": [{"role": "king", "content": "x"}]}, (400, "invalid_value", "messages[0].role")),
    ({"messages": [{"role": "user", "content": 1}]}, (400, "invalid_value", "messages[0].content")),
    (
        {"messages": [{"role": "user", "content": "  "}]},
        (400, "unsupported_value", "messages[0].content"),
    ),
    (
        {"messages": [{"role": "assistant", "content": "x"}]},
        (400, "unsupported_value", "messages[0].role"),
    ),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        (400, "unsupported_value", "messages[0].content[0]"),
    ),
    ({**HELLO, "tools": [{"type": "function"}]}, (400, "unsupported_value", "tools")),
    ({**HELLO, "stream": "maybe"}, (400, "unsupported_value", "stream")),
    ({**HELLO, "n": 2}, (400, "unsupported_value", "n")),
    ({**HELLO, "model": 7}, (400, "invalid_value", "model")),
    ({**HELLO, "stream_options": []}, (400, "invalid_value", "stream_options")),
    (
        {**HELLO, "response_format": {"type": "json_object"}},
        (400, "unsupported_value", "response_format"),
    ),
]


async def test_what_is_malformed_is_refused_with_the_field_named(tmp_path: Path) -> None:
    async with gateway(tmp_path) as house:
        for given, expected in MALFORMED:
            answer = await house.ask("POST", "/v1/chat/completions", body=given)
            assert answer.error == expected, given if len(str(given)) < 200 else "deep"


@pytest.mark.parametrize("header", ["Session-Id", "Session-Key", "Chat-Id", "User-Id", "Thread-Id"])
async def test_a_name_that_is_too_long_or_not_plain_is_refused(tmp_path: Path, header: str) -> None:
    async with gateway(tmp_path) as house:
        name = f"X-Hermes-{header}"
        for value in ("x" * 257, "a\x7fb", "a\x85b"):
            answer = await house.chat("hello", f"{name}: {value}")
            assert answer.error == (400, "invalid_header", name)


async def test_nonsense_on_the_wire_does_not_end_the_server(tmp_path: Path) -> None:
    async with gateway(tmp_path) as house:
        # The last one has ended other servers as a whole: a byte after a request to upgrade.
        for nonsense in (b"\x00\xff\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"G" * 100_000, UPGRADE):
            stream = await trio.open_tcp_stream("127.0.0.1", house.server.port)
            await stream.send_all(nonsense)
            await stream.aclose()
        assert (await house.bare(request("GET", "/health"))).status == 200


async def test_agents_are_the_models_and_capabilities_are_read_from_the_routes(
    tmp_path: Path,
) -> None:
    async with gateway(tmp_path) as house:
        models = (await house.ask("GET", "/v1/models")).json
        assert [each["id"] for each in models["data"]] == ["main", "coder"]
        assert (await house.ask("GET", "/v1/models/coder")).json["object"] == "model"
        told = (await house.ask("GET", "/v1/capabilities")).json
        assert {(each["method"], each["path"]) for each in told["endpoints"].values()} == set(
            WITH_THE_KEY
        )
        assert told["auth"] == {"type": "bearer", "required": True}
