"""The routes. What they tell about the gateway is handed in as a view; they know no actor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Protocol

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adapters.http.key import Keyring
from hermes_actors.runtime import Node

Endpoint = Callable[[Request], Awaitable[Response]]


class View(Protocol):
    """What the routes may see."""

    def health(self) -> dict[str, Any]:
        """A few facts that anybody may know."""

    def tree(self) -> Node:
        """The live actor tree."""


class Json(Response):
    """Anything that msgspec can encode."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content, enc_hook=repr)


def make_app(view: View, key: str) -> Starlette:
    """The application, without a server around it."""
    keyring = Keyring(key)

    async def health(_request: Request) -> Response:
        facts = view.health()
        return Json(facts, status_code=200 if facts.get("status") == "ok" else 503)

    async def tree(_request: Request) -> Response:
        return Json(view.tree())

    return Starlette(
        routes=[
            Route("/health", health),
            Route("/api/tree", _locked(keyring, tree)),
        ],
        exception_handlers={404: _not_found, 405: _wrong_method, 500: _failed},
    )


def _locked(keyring: Keyring, endpoint: Endpoint) -> Endpoint:
    @wraps(endpoint)
    async def guarded(request: Request) -> Response:
        if not keyring.opens(request.headers.get("authorization")):
            return _refusal(
                401, "invalid_api_key", "Send the gateway's key: 'Authorization: Bearer <key>'."
            )
        return await endpoint(request)

    return guarded


async def _not_found(request: Request, _error: Exception) -> Response:
    return _refusal(404, "not_found", f"There is nothing at {request.url.path}.")


async def _wrong_method(request: Request, _error: Exception) -> Response:
    return _refusal(405, "method_not_allowed", f"{request.method} is not possible here.")


async def _failed(_request: Request, _error: Exception) -> Response:
    return _refusal(500, "internal_error", "The gateway failed; its log says why.")


def _refusal(status: int, code: str, message: str) -> Response:
    error = {"message": message, "type": "invalid_request_error", "code": code}
    return Json({"error": error}, status_code=status)
