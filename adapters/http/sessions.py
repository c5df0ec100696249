"""`/api/sessions`: the conversations there are, what was said in them, and where."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adapters.http.answers import Complaint, Json
from hermes_actors.store import Store, messages, search, sessions
from hermes_actors.store.sessions import Session

_HIDDEN = ("system_prompt", "model_override", "extra", "source", "strikes", "rewinds")
_MOST = 200


class Sessions:
    """Reads the store for people; nothing here changes anything."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def routes(self) -> list[Route]:
        return [
            Route("/api/sessions", self.latest),
            Route("/api/sessions/search", self.search),
            Route("/api/sessions/{session}", self.show),
            Route("/api/sessions/{session}/messages", self.messages),
        ]

    async def latest(self, request: Request) -> Response:
        limit, offset = _limit(request, 50), _number(request, "offset", 0)
        found = await self._store.read(
            sessions.latest(
                platform=request.query_params.get("source"),
                agent_id=request.query_params.get("agent"),
                limit=limit + 1,
                offset=offset,
            )
        )
        page = _list([_session(each) for each in found[:limit]])
        return Json({**page, "limit": limit, "offset": offset, "has_more": len(found) > limit})

    async def show(self, request: Request) -> Response:
        return Json({"object": "hermes.session", "session": _session(await self._found(request))})

    async def messages(self, request: Request) -> Response:
        session = await self._found(request)
        limit, before = _limit(request, 50), _number(request, "before", 2**53)
        lines = await self._store.read(messages.page(session.id, before=before, limit=limit + 1))
        page, more = lines[-limit:], len(lines) > limit
        shown = [_line(each) for each in page]
        return Json({**_list(shown), "session_id": session.id, "has_more": more})

    async def search(self, request: Request) -> Response:
        typed = request.query_params.get("q", "").strip()
        if not typed:
            raise Complaint(400, "invalid_query", "q: say what to look for", param="q")
        hits = await self._store.read(search.search(typed[:1000], limit=_limit(request, 20)))
        return Json(_list([msgspec.to_builtins(hit) for hit in hits]))

    async def _found(self, request: Request) -> Session:
        name = request.path_params["session"]
        session = await self._store.read(sessions.find(name))
        if session is None:
            raise Complaint(404, "session_not_found", f"There is no session '{name}'.")
        return session


def _list(items: list[Any]) -> dict[str, Any]:
    return {"object": "list", "data": items}


def _session(session: Session) -> dict[str, Any]:
    """What may be shown: the words that make an agent who it is stay inside."""
    shown: dict[str, Any] = msgspec.to_builtins(session)
    for name in _HIDDEN:
        shown.pop(name)
    shown["has_system_prompt"] = session.system_prompt is not None
    shown["has_model_config"] = session.model_override is not None
    return shown


def _line(line: messages.Message) -> dict[str, Any]:
    shown = msgspec.to_builtins(line)
    calls = shown.pop("tool_calls")
    for name in ("reasoning_details", "parts", "active"):
        shown.pop(name)
    return {**shown, "tool_calls": msgspec.json.decode(calls) if calls else None}


def _limit(request: Request, usual: int) -> int:
    return min(max(_number(request, "limit", usual), 1), _MOST)


def _number(request: Request, name: str, usual: int) -> int:
    given = request.query_params.get(name)
    if given is None:
        return usual
    if not (given.isascii() and given.isdecimal()):
        raise Complaint(400, "invalid_query", f"{name}: a whole number, not negative", param=name)
    return min(int(given[:18]), 2**53)
