"""From an address to a stream: name look-up, TCP, TLS, and the proxy that the environment names."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Awaitable, Callable

import httpx  # noqa: ASYNC127  see http_client.py
import trio

from adapters.http_exchange import hang_up
from adapters.http_proxy import proxy_for, tunnelled

Dial = Callable[[httpx.URL, str], Awaitable[trio.abc.Stream]]
"""Connect to a URL's host and port, with TLS for that server name if the scheme asks for it."""


@functools.cache
def shared_tls() -> ssl.SSLContext:
    """The TLS settings of every client, read once: loading the trusted roots takes ~15 ms.

    It speaks HTTP/1.1 only. There closing the connection *is* the cancellation; over HTTP/2 a
    server hears of an abandoned stream only when somebody sends it the next frame.
    """
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def dialer(tls: ssl.SSLContext | None = None) -> Dial:
    """The way out to the network. A cancelled or failed attempt leaves no socket behind."""

    async def dial(url: httpx.URL, server_name: str) -> trio.abc.Stream:
        host, port = url.raw_host.decode("ascii").strip("[]"), port_of(url)
        if url.scheme == "http":
            return await _connected(host, port)
        proxy = proxy_for(host)
        stream = await (tunnelled(proxy, host, port) if proxy else _connected(host, port))
        return await secured(stream, server_name, tls)

    return dial


async def _connected(host: str, port: int) -> trio.SocketStream:
    try:
        return await trio.open_tcp_stream(host, port)
    except OSError as error:
        raise httpx.ConnectError(_plainly(error)) from error


async def secured(
    stream: trio.abc.Stream, server_name: str, tls: ssl.SSLContext | None
) -> trio.abc.Stream:
    """TLS over a stream, shaken hands; the stream is closed if that fails."""
    secure = trio.SSLStream(
        stream, tls or shared_tls(), server_hostname=server_name, https_compatible=True
    )
    try:
        await secure.do_handshake()
    except trio.BrokenResourceError as error:
        hang_up(stream)
        raise httpx.ConnectError(f"TLS failed: {_plainly(error.__cause__ or error)}") from error
    except BaseException:
        hang_up(stream)
        raise
    return secure


def port_of(url: httpx.URL) -> int:
    """The port, also where the address leaves it out."""
    return url.port or (443 if url.scheme == "https" else 80)


def _plainly(error: BaseException) -> str:
    """The system's own words for what went wrong, without numbers and addresses of memory."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return (error.reason or "no TLS on the other side").replace("_", " ").lower()
    if isinstance(error.__cause__, OSError):
        error = error.__cause__
    if isinstance(error.__cause__, BaseExceptionGroup):
        error = error.__cause__.exceptions[0]
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
