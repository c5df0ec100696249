"""The listening socket, made by us so that a client who stops reading cannot hold a handler.

The server library sends inside a shield, which no cancellation reaches. The kernel can end such a
send: after `STALL` of unacknowledged bytes it breaks the connection, and the handler is free.
"""

from __future__ import annotations

import errno
import socket

from hermes_actors.errors import EXIT_TRY_AGAIN, Unrecoverable

STALL_MS = 20_000
_BACKLOG = 512


class AddressTaken(Unrecoverable):
    """Another program listens there; starting us again will help once it is gone."""

    exit_code = EXIT_TRY_AGAIN


def listen(host: str, port: int, key: str) -> socket.socket:
    """A listening TCP socket. `key` is the table of the configuration to name in a complaint."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as failure:
        raise AddressTaken(f"{key}.host: '{host}' is not an address here: {failure}") from failure
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _break_stalled_connections(listener)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as failure:
        listener.close()
        raise AddressTaken(_complaint(host, port, key, failure)) from failure
    return listener


def url_of(listener: socket.socket) -> str:
    """Where to reach it, with the port that it really has."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _break_stalled_connections(listener: socket.socket) -> None:
    option = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux; accepted sockets inherit it
    if option is not None:
        listener.setsockopt(socket.IPPROTO_TCP, option, STALL_MS)


def _complaint(host: str, port: int, key: str, failure: OSError) -> str:
    if failure.errno == errno.EADDRINUSE:
        return (
            f"{key}.port: {host}:{port} is in use by another program; stop that one, or choose "
            "another port (0 takes any free one)"
        )
    return f"{key}: cannot listen on {host}:{port}: {failure.strerror}"
