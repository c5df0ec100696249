"""The HTTP server as an actor: it listens while it lives, and lets requests finish when drained."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

import anycorn
import anycorn.config
import trio

from adapters.http.listener import STALL, listen, url_of
from hermes_actors.runtime import Actor

_LAST_WORDS = 1.0
App = Callable[..., Any]


class HttpServer(Actor[object]):
    """Serves one ASGI application on one address.

    `up` is called with the address once connections are taken. Draining takes no new
    connections and waits for open ones; shortly before the time is up, an application that has a
    `last_call` is given it, to say goodbye. Stopping cuts what is left.
    """

    def __init__(
        self,
        app: App,
        *,
        host: str,
        port: int,
        key: str = "adapters.api_server",
        finish_within: float = 10.0,
        stall: float = STALL,
        up: Callable[[str], None] = lambda url: None,
    ) -> None:
        self._app, self._host, self._port, self._key = app, host, port, key
        self._finish_within, self._stall, self._up = finish_within, stall, up
        self._closing, self._served = trio.Event(), trio.Event()

    async def started(self) -> None:
        """Listen; `AddressTaken` when that address is not to be had."""
        listener = listen(self._host, self._port, self._key, stall=self._stall)
        url = url_of(listener)
        # From here on the descriptor is the server's, which closes it with its last task.
        descriptor = listener.detach()
        config = _server_config(descriptor, self._finish_within)
        await self.nursery.start(self._serve, config, name="http server")
        os.set_inheritable(descriptor, False)  # the server library lets children inherit it
        self.thrived()
        self._up(url)

    def on_drain(self) -> None:
        """Take no new connections."""
        self._closing.set()
        self.spawn(self._last_call)

    async def _serve(  # noqa: ASYNC114, ASYNC128  the library says when it has started
        self,
        config: anycorn.config.Config,
        *,
        task_status: trio.TaskStatus[Any] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        try:
            await anycorn.serve(
                self._app, config, shutdown_trigger=self._closing.wait, task_status=task_status
            )
        finally:
            self._served.set()

    async def _last_call(self) -> None:
        last_words = min(_LAST_WORDS, self._finish_within / 2)
        with trio.move_on_after(self._finish_within - last_words) as waited:
            await self._served.wait()
        if waited.cancelled_caught:
            getattr(self._app, "last_call", _nothing)()


def _nothing() -> None:
    """An application that has nothing to say at the end."""


def _server_config(descriptor: int, finish_within: float) -> anycorn.config.Config:
    config = anycorn.config.Config()
    config.bind = [f"fd://{descriptor}"]
    config.graceful_timeout = finish_within
    config.accesslog = None
    config.errorlog = logging.getLogger("anycorn.error")
    config.include_server_header = False
    config.h11_max_incomplete_size = 32 * 1024
    return config
