"""Reads a request's body: within a size, within a time, into our own types."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec
import trio
from starlette.requests import ClientDisconnect, Request

from adapters.http.answers import Complaint

T = TypeVar("T")
WHOLE_WITHIN = 60.0
_PLACE = re.compile(r"^(?P<words>.*) - at `\$\.?(?P<place>[^`]*)`$", re.DOTALL)


async def read(request: Request) -> bytes:
    """The whole body: 413 as soon as it is too large, 408 when it stops in the middle."""
    most, patience = request.state.body_bytes, request.state.patience
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > most:
        raise _too_large(most)
    pieces, size = list[bytes](), 0
    with trio.move_on_after(WHOLE_WITHIN):
        while True:
            with trio.move_on_after(patience) as waited:
                message = await request.receive()
            if waited.cancelled_caught:
                break
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > most:
                raise _too_large(most)
            if not message.get("more_body", False):
                return b"".join(pieces)
    raise Complaint(408, "body_too_slow", "The body did not arrive in time.")


async def read_as(request: Request, kind: type[T]) -> tuple[T, bytes]:
    """The body as a value of this type, and its bytes. 400 names the field that is wrong."""
    body = await read(request)
    return decode(body, kind), body


def decode(body: bytes, kind: type[T]) -> T:
    """JSON to a value; a `Complaint` that names the place for anything else."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as wrong:
        raise _misfit(str(wrong)) from None
    except (msgspec.DecodeError, UnicodeError) as wrong:
        raise Complaint(400, "invalid_json", f"The body is not JSON: {wrong}") from None
    except RecursionError:
        raise Complaint(400, "invalid_json", "The body is nested too deeply.") from None


def _too_large(most: int) -> Complaint:
    return Complaint(413, "body_too_large", f"The body is larger than {most} bytes.")


def _misfit(words: str) -> Complaint:
    found = _PLACE.match(words)
    if found is None:
        return Complaint(400, "invalid_value", words)
    place = found["place"] or None
    return Complaint(400, "invalid_value", f"{place or 'body'}: {found['words']}", param=place)
