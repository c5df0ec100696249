"""What the gateway tells about itself: health, the tree, its agents, what it can do."""

from __future__ import annotations

from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adapters.http.answers import Complaint, Json
from hermes_actors.runtime import Node


class View(Protocol):
    """What the routes may see of the running gateway."""

    def health(self) -> dict[str, Any]:
        """A few facts that anybody may know."""

    def tree(self) -> Node:
        """The live actor tree."""


class About:
    """Answers questions about the gateway itself."""

    def __init__(self, view: View, agents: tuple[str, ...], *, on_disconnect: str) -> None:
        self._view, self._agents, self._on_disconnect = view, agents, on_disconnect

    def routes(self) -> list[Route]:
        return [
            Route("/health", self.health),
            Route("/v1/health", self.health),
            Route("/api/tree", self.tree),
            Route("/v1/models", self.models),
            Route("/v1/models/{model}", self.model),
            Route("/v1/capabilities", self.capabilities),
        ]

    async def health(self, _request: Request) -> Response:
        facts = self._view.health()
        return Json(facts, status_code=200 if facts.get("status") == "ok" else 503)

    async def tree(self, _request: Request) -> Response:
        return Json(self._view.tree())

    async def models(self, _request: Request) -> Response:
        return Json({"object": "list", "data": [_model(agent) for agent in self._agents]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["model"]
        if name not in self._agents:
            raise Complaint(404, "model_not_found", f"There is no agent '{name}' here.")
        return Json(_model(name))

    async def capabilities(self, request: Request) -> Response:
        return Json(
            {
                "object": "hermes.api_server.capabilities",
                "platform": "hermes-actors",
                "version": self._view.health().get("version"),
                "model": self._agents[0],
                "auth": {"type": "bearer", "required": True},
                "runtime": {
                    "mode": "server_agent",
                    "tool_execution": "server",
                    "split_runtime": False,
                },
                "features": self._features(),
                "endpoints": _endpoints(request.app.routes),
            }
        )

    def _features(self) -> dict[str, Any]:
        return {
            "chat_completions": True,
            "chat_completions_streaming": True,
            "client_tools": False,
            "images": False,
            "responses_api": False,
            "run_events": True,
            "run_events_resume": True,
            "run_stop": True,
            "idempotency": True,
            "async_delivery": False,
            "on_disconnect": self._on_disconnect,
            "session_continuity_header": "X-Hermes-Session-Id",
            "session_key_header": "X-Hermes-Session-Key",
            "cors": False,
        }


def _model(agent: str) -> dict[str, Any]:
    return {
        "id": agent,
        "object": "model",
        "created": 0,
        "owned_by": "hermes",
        "permission": [],
        "root": agent,
        "parent": None,
    }


def _endpoints(routes: list[Any]) -> dict[str, dict[str, str]]:
    """Read from the routes themselves, so that it cannot say what is not true."""
    found = {}
    for route in routes:
        for method in sorted(route.methods - {"HEAD"}):
            found[f"{method} {route.path}"] = {"method": method, "path": route.path}
    return found
