"""The listening socket, made by us so that a client who stops reading cannot hold a handler.

The server library sends inside a shield, which no cancellation reaches. The kernel can end such a
send: after `STALL` seconds of unacknowledged bytes it breaks the connection, and the handler is
free. For a client that is silent and may be gone, it asks: a machine that does not answer for
`STALL` seconds has left.
"""

from __future__ import annotations

import errno
import socket

from hermes_actors.errors import EXIT_TRY_AGAIN, Unrecoverable

STALL = 20.0
_BACKLOG = 512


class AddressTaken(Unrecoverable):
    """Another program listens there; starting us again will help once it is gone."""

    exit_code = EXIT_TRY_AGAIN


def listen(host: str, port: int, key: str, *, stall: float = STALL) -> socket.socket:
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
        _break_stalled_connections(listener, stall)
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


def _break_stalled_connections(listener: socket.socket, stall: float) -> None:
    """Options of Linux, which accepted sockets inherit; elsewhere the system's own times hold."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    every = max(round(stall / 4), 1)
    wanted = {
        "TCP_USER_TIMEOUT": round(stall * 1000),
        "TCP_KEEPIDLE": every,
        "TCP_KEEPINTVL": every,
        "TCP_KEEPCNT": 3,
    }
    for name, value in wanted.items():
        option = getattr(socket, name, None)
        if option is not None:
            listener.setsockopt(socket.IPPROTO_TCP, option, value)


def _complaint(host: str, port: int, key: str, failure: OSError) -> str:
    if failure.errno == errno.EADDRINUSE:
        return (
            f"{key}.port: {host}:{port} is in use by another program; stop that one, or choose "
            "another port (0 takes any free one)"
        )
    return f"{key}: cannot listen on {host}:{port}: {failure.strerror}"
