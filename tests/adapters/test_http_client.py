"""Connections without a pool: what is used again, what is closed, and when."""

from __future__ import annotations

import socket
from pathlib import Path

import httpx  # noqa: ASYNC127  what is under test
import pytest
import trio
from trio.testing import MockClock

from adapters.http_client import Lanes, http_client
from adapters.http_dial import dialer
from adapters.http_exchange import Exchange
from hermes_actors.testing import take_census
from tests.adapters.certificates import server_tls, trusting_tls
from tests.adapters.models.scripted_line import Exchange as ScriptedExchange
from tests.adapters.raw_server import END, SSE_HEAD, RawServer, Visit, chunk, plain


async def start(nursery: trio.Nursery, server: RawServer) -> RawServer:
    await nursery.start(server.serve)
    return server


async def greet(visit: Visit) -> None:
    await visit.send(plain(200, b"hello"))


async def hang(visit: Visit) -> None:
    await visit.hung_up()


async def begin_and_hang(visit: Visit) -> None:
    await visit.send(SSE_HEAD + chunk(b"first"))
    await visit.hung_up()


def post(server: RawServer, body: bytes = b"x") -> httpx.Request:
    return httpx.Request("POST", f"{server.url}/talk", content=body)


async def all_of(exchange: Exchange) -> bytes:
    pieces = []
    try:
        while piece := await exchange.read():
            pieces.append(piece)
    finally:
        exchange.close()
    return b"".join(pieces)


async def test_a_connection_is_used_again_after_its_answer_was_read(
    nursery: trio.Nursery,
) -> None:
    server, lanes = await start(nursery, RawServer(greet)), Lanes()
    for _ in range(3):
        assert await all_of(await lanes.exchange(post(server))) == b"hello"
    assert len(server.visits) == 1
    await lanes.aclose()
    await server.all_gone()


async def test_an_answer_that_is_left_unread_costs_its_connection(nursery: trio.Nursery) -> None:
    server, lanes = await start(nursery, RawServer(begin_and_hang)), Lanes()
    exchange = await lanes.exchange(post(server))
    assert await exchange.read() == b"first"
    exchange.close()
    exchange.close()
    await server.all_gone()
    assert lanes.limiter.borrowed_tokens == 0


async def test_a_connection_that_the_server_has_closed_meanwhile_is_not_used(
    nursery: trio.Nursery,
) -> None:
    async def greet_once(visit: Visit) -> None:
        await greet(visit)
        visit.reset()

    server, lanes = await start(nursery, RawServer(greet_once)), Lanes()
    for _ in range(3):
        assert await all_of(await lanes.exchange(post(server))) == b"hello"
        await server.all_gone()
    assert len(server.visits) == 3
    await lanes.aclose()


async def test_as_many_connections_are_open_as_exchanges_and_few_rest_afterwards(
    nursery: trio.Nursery,
) -> None:
    server, lanes = await start(nursery, RawServer(greet)), Lanes()
    exchanges = [await lanes.exchange(post(server)) for _ in range(80)]
    assert server.open == 80
    for exchange in exchanges:
        await all_of(exchange)
    assert lanes.limiter.borrowed_tokens == 0
    await trio.testing.wait_all_tasks_blocked(0.05)
    assert server.open == 64
    await lanes.aclose()
    await server.all_gone()


async def test_beyond_the_limit_an_exchange_waits_for_its_turn(nursery: trio.Nursery) -> None:
    server, lanes = await start(nursery, RawServer(greet)), Lanes(at_once=1)
    first = await lanes.exchange(post(server))
    answers: list[bytes] = []

    async def second() -> None:
        answers.append(await all_of(await lanes.exchange(post(server))))

    async with trio.open_nursery() as waiting:
        waiting.start_soon(second)
        await trio.testing.wait_all_tasks_blocked()
        assert len(server.requests) == 1
        assert await all_of(first) == b"hello"
    assert answers == [b"hello"]
    await lanes.aclose()


@pytest.mark.parametrize("behaviour", [hang, begin_and_hang])
async def test_whoever_is_cancelled_hangs_up_and_the_server_sees_it(
    behaviour: object, nursery: trio.Nursery
) -> None:
    server, lanes = await start(nursery, RawServer(behaviour)), Lanes()  # type: ignore[arg-type]
    async with trio.open_nursery() as talking:
        talking.start_soon(_talk_for_ever, lanes, server)
        await server.asked()
        await trio.testing.wait_all_tasks_blocked()
        talking.cancel_scope.cancel()
    with trio.fail_after(5):
        await server.all_gone()
    assert lanes.limiter.borrowed_tokens == 0


async def _talk_for_ever(lanes: Lanes, server: RawServer) -> None:
    await all_of(await lanes.exchange(post(server)))


async def test_a_cancelled_upload_hangs_up_although_nobody_reads_it(
    nursery: trio.Nursery,
) -> None:
    cancelled, heard = trio.Event(), trio.Event()

    async def read_too_late(stream: trio.SocketStream) -> None:
        await cancelled.wait()
        while await stream.receive_some(65536):
            pass
        heard.set()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    nursery.start_soon(trio.serve_listeners, read_too_late, listeners)
    port, lanes = listeners[0].socket.getsockname()[1], Lanes()
    with trio.move_on_after(0.2) as scope:
        url = f"http://127.0.0.1:{port}/"
        await lanes.exchange(httpx.Request("POST", url, content=b"x" * 50_000_000))
    assert scope.cancelled_caught
    cancelled.set()
    with trio.fail_after(5):
        await heard.wait()
    assert lanes.limiter.borrowed_tokens == 0


async def test_a_cancelled_tls_handshake_leaves_no_socket_behind(nursery: trio.Nursery) -> None:
    hung_up = trio.Event()

    async def say_nothing(stream: trio.SocketStream) -> None:
        while await stream.receive_some(65536):
            pass
        hung_up.set()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    nursery.start_soon(trio.serve_listeners, say_nothing, listeners)
    port, lanes = listeners[0].socket.getsockname()[1], Lanes()
    with trio.move_on_after(0.1):
        await lanes.exchange(httpx.Request("GET", f"https://127.0.0.1:{port}/"))
    with trio.fail_after(5):
        await hung_up.wait()


async def test_after_a_storm_of_cancellations_everything_still_works(
    nursery: trio.Nursery,
) -> None:
    async def late(visit: Visit) -> None:
        await trio.sleep(0.001 * (len(server.requests) % 7))
        await greet(visit)

    server = await start(nursery, RawServer(late))
    lanes, before = Lanes(at_once=10), take_census()
    async with trio.open_nursery() as storm:
        for number in range(400):
            storm.start_soon(_impatient, lanes, server, 0.0005 * (number % 40))
    assert lanes.limiter.borrowed_tokens == 0
    for _ in range(20):
        assert await all_of(await lanes.exchange(post(server))) == b"hello"
    await lanes.aclose()
    await server.all_gone()
    assert take_census()["fds"] == before["fds"]


async def _impatient(lanes: Lanes, server: RawServer, patience: float) -> None:
    with trio.move_on_after(patience):
        await all_of(await lanes.exchange(post(server)))


async def test_tls_works_with_a_certificate_that_is_trusted(
    nursery: trio.Nursery, tmp_path: Path
) -> None:
    server = RawServer(greet)
    await nursery.start(server.serve, server_tls(tmp_path))
    lanes = Lanes(dial=dialer(trusting_tls()))
    url = f"https://localhost:{server.port}/"
    for _ in range(2):
        assert await all_of(await lanes.exchange(httpx.Request("GET", url))) == b"hello"
    assert len(server.visits) == 1
    await lanes.aclose()


async def test_a_certificate_that_is_not_trusted_is_refused_in_words(
    nursery: trio.Nursery, tmp_path: Path
) -> None:
    server = RawServer(greet)
    await nursery.start(server.serve, server_tls(tmp_path))
    with pytest.raises(httpx.ConnectError, match="certificate is not trusted"):
        await Lanes().exchange(httpx.Request("GET", f"https://localhost:{server.port}/"))


async def test_a_pinned_address_is_checked_against_the_name_it_was_resolved_from(
    nursery: trio.Nursery, tmp_path: Path
) -> None:
    server = RawServer(greet)
    await nursery.start(server.serve, server_tls(tmp_path))
    lanes, url = Lanes(dial=dialer(trusting_tls())), f"https://127.0.0.1:{server.port}/"
    names = {"sni_hostname": "somebody.else"}
    with pytest.raises(httpx.ConnectError, match="not trusted"):
        await lanes.exchange(httpx.Request("GET", url, extensions=names))
    names = {"sni_hostname": "localhost"}
    exchange = await lanes.exchange(httpx.Request("GET", url, extensions=names))
    assert await all_of(exchange) == b"hello"
    await lanes.aclose()


async def test_nobody_there_is_told_in_the_words_of_the_system() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(httpx.ConnectError, match="refused"):
            await Lanes().exchange(httpx.Request("GET", f"http://127.0.0.1:{port}/"))


async def test_a_name_that_does_not_exist_is_told() -> None:
    with pytest.raises(httpx.ConnectError):
        await Lanes().exchange(httpx.Request("GET", "http://no-such-host.invalid/"))


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 500_000,
    ],
    ids=["nothing", "noise", "cut short", "bad chunk", "endless head"],
)
async def test_an_answer_that_is_no_http_is_an_error_and_not_a_hang(
    answer: bytes, nursery: trio.Nursery
) -> None:
    async def misbehave(visit: Visit) -> None:
        await visit.send(answer)
        visit.reset() if not answer else await _close_politely(visit)

    server, lanes = await start(nursery, RawServer(misbehave)), Lanes()
    with pytest.raises(httpx.TransportError):
        await all_of(await lanes.exchange(post(server)))
    assert lanes.limiter.borrowed_tokens == 0


async def test_what_came_before_a_fault_is_given_out_before_the_fault_is(
    nursery: trio.Nursery,
) -> None:
    async def stumble(visit: Visit) -> None:
        await visit.send(SSE_HEAD + chunk(b"ab") + chunk(b"c") + b"zz\r\n")
        await visit.hung_up()

    server, lanes = await start(nursery, RawServer(stumble)), Lanes()
    exchange = await lanes.exchange(post(server))
    assert await exchange.read() == b"abc"
    with pytest.raises(httpx.RemoteProtocolError):
        await exchange.read()
    exchange.close()
    await server.all_gone()


async def _close_politely(visit: Visit) -> None:
    stream = visit._stream
    assert isinstance(stream, trio.SocketStream)
    await stream.send_eof()
    await visit.hung_up()


async def test_an_early_refusal_is_read_although_the_upload_broke(nursery: trio.Nursery) -> None:
    async def refuse_early(stream: trio.SocketStream) -> None:
        await stream.receive_some(1000)
        await stream.send_all(plain(413, b"too large", b"connection: close"))
        await stream.send_eof()
        while await stream.receive_some(65536):
            pass

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    nursery.start_soon(trio.serve_listeners, refuse_early, listeners)
    url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/"
    exchange = await Lanes().exchange(httpx.Request("POST", url, content=b"x" * 5_000_000))
    assert (exchange.status, await all_of(exchange)) == (413, b"too large")


async def test_an_httpx_client_can_be_used_as_usual(nursery: trio.Nursery) -> None:
    async def echo(visit: Visit) -> None:
        path = visit.head.split(b" ", 2)[1]
        await visit.send(plain(200, b'{"path": "%b", "said": "%b"}' % (path, visit.body)))

    server = await start(nursery, RawServer(echo))
    async with http_client(base_url=server.url, headers={"x-who": "me"}) as client:
        answer = await client.post("/a", params={"q": "1"}, content=b"hi")
        assert answer.json() == {"path": "/v1/a?q=1", "said": "hi"}
        assert (await client.get("/b")).json()["path"] == "/v1/b"
        assert server.visits[0].header("x-who") == "me"
        assert len(server.visits) == 1


async def test_an_address_is_not_written_to_the_log(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    server = await start(nursery, RawServer(greet))
    async with http_client(base_url=server.url) as client:
        assert (await client.get("/bot123:secret/getMe")).status_code == 200
    assert "secret" not in caplog.text


async def test_an_httpx_client_neither_follows_redirects_nor_keeps_cookies_from_others(
    nursery: trio.Nursery,
) -> None:
    async def redirect(visit: Visit) -> None:
        await visit.send(plain(302, b"", b"location: http://somebody.else.invalid/"))

    server = await start(nursery, RawServer(redirect))
    async with http_client(base_url=server.url) as client:
        assert (await client.get("/")).status_code == 302
        assert len(server.requests) == 1


async def test_headers_of_a_hundred_answers_in_pieces_are_put_together(
    nursery: trio.Nursery,
) -> None:
    async def drip(visit: Visit) -> None:
        for byte in SSE_HEAD + chunk(b"ab") + chunk(b"c") + END:
            await visit.send(bytes((byte,)))

    server, lanes = await start(nursery, RawServer(drip)), Lanes()
    assert await all_of(await lanes.exchange(post(server))) == b"abc"
    assert await all_of(await lanes.exchange(post(server))) == b"abc"
    assert len(server.visits) == 1
    await lanes.aclose()


HELLO = (plain(200, b"hello"), plain(200, b"again"))


def get(host: str = "line") -> httpx.Request:
    return httpx.Request("GET", f"http://{host}/")


async def test_a_connection_rests_for_half_a_minute_and_no_longer(
    autojump_clock: MockClock,
) -> None:
    exchange = ScriptedExchange(HELLO, HELLO)
    lanes = Lanes(dial=exchange.dial)
    assert await all_of(await lanes.exchange(get())) == b"hello"
    await trio.sleep(29)
    assert await all_of(await lanes.exchange(get())) == b"again"
    await trio.sleep(31)
    assert await all_of(await lanes.exchange(get())) == b"hello"
    assert [line.closed for line in exchange.lines] == [True, False]


async def test_a_connection_to_one_host_is_not_used_for_another(
    autojump_clock: MockClock,
) -> None:
    exchange = ScriptedExchange(HELLO, HELLO)
    lanes = Lanes(dial=exchange.dial)
    for host in ("one", "other"):
        assert await all_of(await lanes.exchange(get(host))) == b"hello"
    assert len(exchange.lines) == 2
    await lanes.aclose()
    assert [line.closed for line in exchange.lines] == [True, True]
