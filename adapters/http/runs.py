"""`/v1/runs/{id}`: how a run is, what happens in it, and the way to stop it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adapters.http.answers import Complaint, Json
from adapters.http.connection import while_connected
from adapters.http.following import Batch, Following, place_of
from adapters.http.front import Receive, Scope, Send
from adapters.http.open_streams import OpenStreams
from adapters.http.run_shapes import event_of, run_object, status_of
from adapters.http.sse import KEEPALIVE, Collector, EventWriter, event, trouble
from hermes_actors.actors.services import Services
from hermes_actors.actors.session import Look, StopRun
from hermes_actors.errors import Refusal
from hermes_actors.store import messages, runs
from hermes_actors.store.runs import Run
from hermes_actors.store.states import RunState

_CLOSED = b": stream closed\n\n"


class Runs:
    """Questions about runs, wherever they were begun."""

    def __init__(self, services: Services, keepalive: float, streams: OpenStreams) -> None:
        self._services, self._keepalive, self._streams = services, keepalive, streams

    def routes(self) -> list[Route]:
        return [
            Route("/v1/runs/{run}", self.show),
            Route("/v1/runs/{run}/events", self.events),
            Route("/v1/runs/{run}/stop", self.stop, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        run = await self._run(request)
        said = await self._services.house.store.read(messages.of_run(run.id))
        return Json(run_object(run, said, live=self._live(run)))

    async def stop(self, request: Request) -> Response:
        """Stop it; the answer is on its way when this is answered, and it is the stop report."""
        run = await self._run(request)
        wish = StopRun("user_stop", run_id=run.id)
        self._services.sessions.ref(run.session_key).signal(wish)
        over = run.state is not RunState.RUNNING
        return Json({"run_id": run.id, "status": status_of(run.state) if over else "stopping"})

    async def events(self, request: Request) -> Response:
        run = await self._run(request)
        after = _last_number(request.headers.get("last-event-id"), run.id)
        following = Following(self._services, run.session_key, run=run.id, after=after)
        return Events(following, self._keepalive, self._streams)

    async def _run(self, request: Request) -> Run:
        name = request.path_params["run"]
        run = await self._services.house.store.read(runs.find(name))
        if run is None:
            raise Complaint(404, "run_not_found", f"There is no run '{name}'.")
        return run

    def _live(self, run: Run) -> str:
        look = Look()
        self._services.sessions.ref(run.session_key).signal(look)
        return look.state if look.run_id == run.id else ""


class Events(Response):
    """A run's events for one of its readers. Leaving changes nothing for the run."""

    def __init__(self, following: Following, keepalive: float, streams: OpenStreams) -> None:
        self._following, self._keepalive, self._streams = following, keepalive, streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        writer = EventWriter(send)

        async def tell() -> None:
            await writer.head({})
            try:
                await self._relay(writer)
            except (Complaint, Refusal) as no:
                await writer.write(event({"event": "error", "error": trouble(no)}))
            await writer.close(_CLOSED)

        with self._streams.hold(self._following):
            await while_connected(receive, tell)

    async def _relay(self, writer: EventWriter) -> None:
        steps = Collector(self._following, self._keepalive)
        while not self._following.over:
            batch = await steps.step()
            await writer.write(_events(batch) if batch.items else KEEPALIVE)


def _events(batch: Batch) -> bytes:
    """Each with its own place, so that a reader who comes back gets what follows and no more."""
    told = ((each, event_of(each.what)) for each in batch.items)
    return b"".join(event(shape, id=place_of(each)) for each, shape in told if shape is not None)


def _last_number(given: str | None, run: str) -> int | None:
    """The place in `Last-Event-ID`, as we have written it; that of another run means nothing."""
    if given is None:
        return None
    name, _, number = given.rpartition("/")
    if name not in ("", run) or not (number.isascii() and number.isdecimal()):
        raise Complaint(
            400,
            "invalid_header",
            "Last-Event-ID: send back the id of the last event of this run",
            param="Last-Event-ID",
        )
    return min(int(number[:18]), 2**53)
