"""One way to a model: a client behind the breaker of its key.

The breaker belongs to the key and the address, so everybody who uses them learns of an outage
together. It counts runs, not tries, and only failures that say something about the provider: a
request that is refused for what is in it, or for how many there were, is nobody else's problem.
"""

from __future__ import annotations

import msgspec
import trio

from adapters.models.retrying import LeftAlone
from adapters.models.stream import OnDelta
from adapters.models.trouble import told
from hermes_actors.ports import ModelClient, ModelFailed, ModelTrouble
from hermes_actors.pure.breaker import Breaker
from hermes_actors.values import ModelReply, ModelRequest

_TELLING: frozenset[ModelTrouble] = frozenset(("overloaded", "unreachable", "timeout"))


class Guard:
    """A breaker that one run, however often it tries, can move by one step only."""

    def __init__(self, limit: int = 5, cool_down: float = 60.0) -> None:
        self._breaker = Breaker(limit, cool_down)
        self._last_run: str | None = None
        self._opened = 0.0

    def admit(self, who: str) -> int:
        """The era to report back with; `ModelFailed` while the breaker is open."""
        now = trio.current_time()
        era = self._breaker.admit(now)
        if era is None:
            wait = max(1.0, self._opened + self._breaker.cool_down - now)
            why = f"{who} has failed {self._breaker.limit} times in a row."
            raise LeftAlone("overloaded", f"{why} It will be tried again in {wait:.0f} s.", wait)
        return era

    def report(self, era: int, run: str, failure: ModelFailed | None) -> None:
        """How an admitted call ended."""
        if failure is None:
            self._breaker.succeed(era)
            self._last_run = None
        elif failure.kind not in _TELLING or (run == self._last_run and self._breaker.closed):
            self._breaker.withdraw(era)
        else:
            self._last_run = run
            if self._breaker.fail(era, trio.current_time()):
                self._opened = trio.current_time()

    def withdraw(self, era: int) -> None:
        """An admitted call was cancelled."""
        self._breaker.withdraw(era)


class Route(msgspec.Struct, frozen=True):
    """A model, and who speaks with it. Only a `fixed` one does not let the request choose."""

    who: str
    client: ModelClient
    guard: Guard
    model: str = ""
    fixed: bool = False

    def addressed(self, request: ModelRequest) -> ModelRequest:
        """The request with the name of the model that it goes to."""
        if request.model and not self.fixed:
            return request
        return msgspec.structs.replace(request, model=self.model)

    async def respond(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        """One try, if the breaker lets it through."""
        era = self.guard.admit(self.who)
        reported = False
        try:
            reply = usable(await self.client.respond(request, on_delta), self.who)
            self.guard.report(era, request.run, None)
            reported = True
            return reply
        except ModelFailed as failure:
            self.guard.report(era, request.run, failure)
            reported = True
            raise
        finally:
            if not reported:
                self.guard.withdraw(era)


def usable(reply: ModelReply, who: str) -> ModelReply:
    """The reply, unless the provider has blocked all of it."""
    if reply.finish_reason == "content_filter" and not (reply.text.strip() or reply.tool_calls):
        raise told("content_filter", f"{who} has blocked the answer")
    return reply
