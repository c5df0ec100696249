"""The application: every route, behind one front."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.routing import Route

from adapters.http import answers
from adapters.http.about import About, View
from adapters.http.answers import Complaint
from adapters.http.chat import Chat
from adapters.http.desk import Desk
from adapters.http.front import Front
from adapters.http.key import Keyring
from adapters.http.leaving import Leaving
from adapters.http.open_streams import OpenStreams
from adapters.http.runs import Runs
from adapters.http.sessions import Sessions
from hermes_actors.actors.services import Services
from hermes_actors.config.adapters import ApiServerSettings
from hermes_actors.errors import Refusal

_HANDLERS: dict[Any, Any] = {
    ClientDisconnect: answers.on_disconnect,
    Complaint: answers.on_complaint,
    Refusal: answers.on_refusal,
    404: answers.on_not_found,
    405: answers.on_wrong_method,
    500: answers.on_failure,
}


def make_app(
    view: View,
    key: str,
    services: Services,
    settings: ApiServerSettings | None = None,
    *,
    patience: float = 10.0,
) -> Front:
    """The application, without a server around it.

    `patience` is how long a client may pause in the middle of a body.
    """
    settings = settings or ApiServerSettings()
    streams = OpenStreams()
    routes = make_routes(view, services, settings, streams)
    app = Starlette(
        routes=routes,
        exception_handlers=_HANDLERS,
    )
    return Front(
        app,
        Keyring(key),
        hosts=settings.allowed_hosts,
        last_call=streams.last_call,
        body_bytes=settings.body_bytes,
        patience=patience,
    )


def make_routes(
    view: View, services: Services, settings: ApiServerSettings, streams: OpenStreams
) -> list[Route]:
    """Every route that there is."""
    about = About(view, services.agents, on_disconnect=settings.on_disconnect)
    desk = Desk(services, settings.max_concurrent_runs)
    leaving = Leaving(services, settings.on_disconnect, streams)
    chat = Chat(view, desk, leaving, keepalive=settings.keepalive, agent=services.agents[0])
    runs = Runs(services, settings.keepalive, streams)
    sessions = Sessions(services.house.store)
    return [*about.routes(), *chat.routes(), *runs.routes(), *sessions.routes()]
