"""The first and last to touch a request: its id, the host, the key, the headers that protect.

Everything needs the key except the paths in `OPEN`, and also what does not exist: so a new route
is locked from its first day, and nobody without the key can find out which routes there are.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders

from adapters.http.answers import refusal
from adapters.http.key import Keyring

OPEN = frozenset({"/health", "/v1/health"})
Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

_PROTECTION = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-XSS-Protection": "0",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class Front:
    """Stands before an application. `hosts` are the names it may be called by; none: any.

    `last_call` is for the server: time is up, and whoever is still being served should be told.
    `known` is what every request then has in its state, beside its own `request_id`.
    """

    def __init__(
        self,
        app: Asgi,
        keyring: Keyring,
        *,
        hosts: Collection[str] = (),
        last_call: Callable[[], None] = lambda: None,
        **known: Any,
    ) -> None:
        self._app, self._keyring, self._known = app, keyring, known
        self.last_call = last_call
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await _live(receive, send)
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        request_id = f"req_{secrets.token_hex(12)}"
        scope["state"] = {**scope.get("state", {}), **self._known, "request_id": request_id}
        app = self._refused(scope) or self._app

        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                for name, value in _PROTECTION.items():
                    headers.setdefault(name, value)
            await send(message)

        return await app(scope, receive, protected)

    def _refused(self, scope: Scope) -> Asgi | None:
        headers = Headers(scope=scope)
        if self._hosts and _host(headers.get("host", "")) not in self._hosts:
            return refusal(
                421,
                "wrong_host",
                "This gateway is not called that; see allowed_hosts.",
                param="Host",
            )
        if scope["path"] in OPEN or self._keyring.opens(headers.get("authorization")):
            return None
        answer = refusal(
            401, "invalid_api_key", "Send the gateway's key: 'Authorization: Bearer <key>'."
        )
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer


async def _live(receive: Receive, send: Send) -> None:
    """There is nothing to start or to end here, so being cut meanwhile is no failure."""
    while (message := await receive())["type"] != "lifespan.shutdown":
        await send({"type": f"{message['type']}.complete"})
    await send({"type": "lifespan.shutdown.complete"})


def _host(header: str) -> str:
    """The name without the port; an IPv6 address keeps its colons."""
    name = header.strip().lower()
    return name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
