"""Asks a running gateway over its own HTTP API; plain and blocking, for commands that print."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

from hermes_actors.errors import Refusal


class GatewayUnreachable(Refusal):
    """There is no gateway to ask, or it did not answer; the message says what to do."""


def get(url: str, path: str, key: str, patience: float = 5.0) -> bytes:
    """The body of `GET path`. Raises `GatewayUnreachable` for anything but success."""
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=patience)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        answer = connection.getresponse()
        body = answer.read()
    except OSError as failure:
        raise GatewayUnreachable(f"the gateway at {url} does not answer: {failure}") from failure
    finally:
        connection.close()
    if answer.status == 401:
        raise GatewayUnreachable(f"the gateway at {url} does not accept the key of this home")
    if answer.status not in (200, 503):
        raise GatewayUnreachable(f"the gateway at {url} answered {answer.status}")
    return body
