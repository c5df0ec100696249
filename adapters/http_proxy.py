"""The way through a proxy that the environment names: HTTPS_PROXY, ALL_PROXY, NO_PROXY.

Only for https: the proxy is asked for a tunnel and sees names and ports, never words or keys. Plain
http is for servers nearby and goes straight.
"""

from __future__ import annotations

import base64
import urllib.request
from collections.abc import Mapping

import httpx  # noqa: ASYNC127  see http_client.py
import trio

from adapters.http_exchange import hang_up

_LONGEST_HEAD = 64 * 1024


def proxy_for(host: str, environ: Mapping[str, str] | None = None) -> httpx.URL | None:
    """The proxy on the way to an https host, if there is one."""
    named = urllib.request.getproxies_environment() if environ is None else dict(environ)
    address = named.get("https") or named.get("all")
    # Python has it on every system, its type stubs do not.
    if not address or urllib.request.proxy_bypass_environment(host, named):  # type: ignore[attr-defined]
        return None
    return httpx.URL(address if "://" in address else f"http://{address}")


async def tunnelled(proxy: httpx.URL, host: str, port: int) -> trio.SocketStream:
    """A stream to `host` through the proxy; closed if the proxy does not want to."""
    if proxy.scheme != "http":
        raise httpx.ProxyError(f"a proxy has to be http://…, and '{proxy.scheme}://' is not")
    try:
        stream = await trio.open_tcp_stream(proxy.host, proxy.port or 80)
    except OSError as error:
        raise httpx.ProxyError(f"the proxy {proxy.host} cannot be reached: {error}") from error
    try:
        await stream.send_all(_request(proxy, host, port))
        head = await _head(stream)
        if head.split(b" ")[1:2] != [b"200"]:
            line = head.split(b"\r\n", 1)[0].decode("latin-1")
            raise httpx.ProxyError(f"the proxy {proxy.host} refused the way to {host}: {line}")
    except BaseException:
        hang_up(stream)
        raise
    return stream


def _request(proxy: httpx.URL, host: str, port: int) -> bytes:
    to = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {to} HTTP/1.1", f"Host: {to}"]
    if proxy.username or proxy.password:
        pair = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {pair}")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


async def _head(stream: trio.SocketStream) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        try:
            data = await stream.receive_some(4096)
        except trio.BrokenResourceError:
            data = b""
        head += data
        if not data or len(head) > _LONGEST_HEAD:
            raise httpx.ProxyError("the proxy gave no answer that can be read")
    return head
