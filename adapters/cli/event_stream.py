"""Asks a running gateway a question and reads the answer while it is given; plain and blocking."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from adapters.cli.gateway_client import GatewayUnreachable
from hermes_actors.errors import Refusal

PATIENCE = 600.0


class NotAnswered(Refusal):
    """The gateway would not take the question; the message is its own."""


@dataclass(frozen=True)
class Place:
    """Where the gateway is, and the key to it."""

    url: str
    key: str

    @contextmanager
    def post(
        self, path: str, body: dict[str, Any], headers: dict[str, str], patience: float = PATIENCE
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer to a POST. Raises `NotAnswered` for anything but success."""
        where = urlsplit(self.url)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=patience)
        told = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        try:
            connection.request("POST", path, json.dumps(body), {**told, **headers})
            answer = connection.getresponse()
            if answer.status != 200:
                raise NotAnswered(_complaint(answer.status, answer.read()))
            yield answer
        except (OSError, http.client.HTTPException) as failure:
            words = f"the gateway at {self.url} does not answer: {failure}"
            raise GatewayUnreachable(words) from failure
        finally:
            connection.close()


def events(lines: Iterator[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each event of a stream with its id, up to its `[DONE]`; `GatewayUnreachable` without one."""
    place = ""
    for raw in lines:
        name, _, value = raw.decode("utf-8", "replace").rstrip("\r\n").partition(": ")
        if name == "id":
            place = value
        elif name == "data" and value == "[DONE]":
            return
        elif name == "data":
            yield place, json.loads(value)
    raise GatewayUnreachable(
        "the connection to the gateway was lost in the middle of the answer; "
        "/why tells what became of it once the gateway is back"
    )


def _complaint(status: int, body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"the gateway answered {status}"
