"""What the API says when it says no, and how anything it says becomes bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from hermes_actors.errors import Refusal, StoreRefused

_REFUSED = {"conflict": 409, "crowded": 429, "missing": 404, "exists": 409, "invalid": 400}


class Json(Response):
    """Anything that msgspec can encode."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content, enc_hook=repr)


class Complaint(Exception):
    """A request that cannot be served as it is. `param` names the field or header at fault."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.param = status, code, param
        self.retry_after = retry_after


def error_object(status: int, code: str, message: str, param: str | None = None) -> dict[str, Any]:
    """An error in the shape that OpenAI's clients read."""
    kind = "invalid_request_error" if status < 500 else "api_error"
    return {"message": message, "type": kind, "param": param, "code": code}


def refusal(
    status: int,
    code: str,
    message: str,
    *,
    param: str | None = None,
    retry_after: int | None = None,
) -> Response:
    """The same as a whole response."""
    headers = None if retry_after is None else {"Retry-After": str(retry_after)}
    error = error_object(status, code, message, param)
    return Json({"error": error}, status_code=status, headers=headers)


class Handler:
    """A way to answer an error, as the application wants it: something that can be awaited."""

    def __init__(self, answer: Callable[[Request, Exception], Response]) -> None:
        self._answer = answer

    async def __call__(self, request: Request, error: Exception) -> Response:
        return self._answer(request, error)


@Handler
def on_complaint(_request: Request, error: Exception) -> Response:
    """Say what is wrong with the request."""
    assert isinstance(error, Complaint)
    return refusal(
        error.status, error.code, str(error), param=error.param, retry_after=error.retry_after
    )


@Handler
def on_refusal(_request: Request, error: Exception) -> Response:
    """A part of the gateway said no: whose turn it is to act decides the status."""
    assert isinstance(error, Refusal)
    if isinstance(error, StoreRefused) and error.kind in _REFUSED:
        status = _REFUSED[error.kind]
        again = 1 if status == 429 else None
        return refusal(status, f"store_{error.kind}", str(error), retry_after=again)
    return refusal(503, "unavailable", f"{error}; try again in a moment", retry_after=1)


@Handler
def on_not_found(request: Request, _error: Exception) -> Response:
    """No such path."""
    return refusal(404, "not_found", f"There is nothing at {request.url.path}.")


@Handler
def on_wrong_method(request: Request, _error: Exception) -> Response:
    """The path is right, the method is not."""
    return refusal(405, "method_not_allowed", f"{request.method} is not possible here.")


@Handler
def on_failure(_request: Request, _error: Exception) -> Response:
    """A crash of ours; the words of it are for the log alone."""
    return refusal(500, "internal_error", "The gateway failed; its log says why.")


@Handler
def on_disconnect(_request: Request, _error: Exception) -> Response:
    """The client left while it was still asking; nobody will read this."""
    return Response(status_code=499)
