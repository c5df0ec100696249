"""A model that does not give up at once: retries, fallbacks, one deadline over all of it.

Two promises. Nothing is tried again behind the reader's back: once a piece of an answer was passed
on, a `ModelNotice` says that it begins anew before the next piece is. And a run that was moved to
another model stays there, so the words do not change hands with every tool call.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Sequence

import trio

from adapters.models.guarded import Route
from adapters.models.retrying import GiveUp, Policy, Switch, Wait
from adapters.models.stream import OnDelta
from adapters.models.trouble import told
from hermes_actors.config.values import spell
from hermes_actors.ports import ModelFailed
from hermes_actors.values import (
    Delta,
    ModelNotice,
    ModelReply,
    ModelRequest,
    Reached,
    TextDelta,
)

_LONG_WAIT = 10.0
_REMEMBERED_RUNS = 4096


class Resilient:
    """Asks the first of `routes`, and the others after it when that does not help."""

    def __init__(
        self,
        routes: Sequence[Route],
        policy: Policy | None = None,
        dice: Callable[[], float] = random.random,
    ) -> None:
        if not routes:
            raise ValueError("there must be at least one model to ask")
        self._routes, self._policy, self._dice = tuple(routes), policy or Policy(), dice
        self._moved: OrderedDict[str, int] = OrderedDict()

    async def respond(self, request: ModelRequest, on_delta: OnDelta) -> ModelReply:
        """The answer of the first model that gives one. Raises `ModelFailed` with every cause."""
        attempt = _Attempt(self._policy, self._dice, on_delta)
        with trio.CancelScope(deadline=attempt.deadline):
            return await self._through(request, attempt)
        attempt.failures.append(told("timeout", f"No answer within {spell(self._policy.total)}"))
        raise attempt.verdict()

    async def _through(self, request: ModelRequest, attempt: _Attempt) -> ModelReply:
        place = self._moved.get(request.run, 0)
        if request.fallback and place + 1 < len(self._routes):
            place += 1
            self._remember(request.run, place)
        while True:
            route, last = self._routes[place], place + 1 == len(self._routes)
            reply = await attempt.ask(route, request, has_next=not last)
            if reply is not None:
                return reply
            place += 1
            self._remember(request.run, place)
            attempt.switched(self._routes[place])

    def _remember(self, run: str, place: int) -> None:
        self._moved[run] = place
        self._moved.move_to_end(run)
        if len(self._moved) > _REMEMBERED_RUNS:
            self._moved.popitem(last=False)


class _Attempt:
    """One question on its way through tries and models."""

    def __init__(self, policy: Policy, dice: Callable[[], float], on_delta: OnDelta) -> None:
        self.deadline = trio.current_time() + policy.total
        self.failures: list[ModelFailed] = []
        self._policy, self._dice, self._on_delta = policy, dice, on_delta
        self._passed_on = self._visible = self._untold = False
        self._notice = ""

    async def ask(
        self, route: Route, request: ModelRequest, *, has_next: bool
    ) -> ModelReply | None:
        """The answer, or None to go on with the next model."""
        asked, tried = route.addressed(request), 0
        while True:
            try:
                reply = await route.respond(asked, self._relay)
                self._tell_what_happened()
                return reply
            except ModelFailed as failure:
                tried += 1
                self.failures.append(failure)
                self._untold = True
                left = self.deadline - trio.current_time()
                step = self._policy.after(failure, tried, has_next, left, self._dice)
            match step:
                case Wait(seconds):
                    self._will_wait(seconds)
                    await trio.sleep(seconds)
                case Switch():
                    return None
                case GiveUp():
                    raise self.verdict()

    def switched(self, route: Route) -> None:
        """The next pieces come from another model; its reader is told with the first of them."""
        self._notice = f"[{_cause(self.failures[-1])} Now answering: {route.who}.]"

    def verdict(self) -> ModelFailed:
        """Every different cause in the order in which it came; the first decides what kind it is.

        Except for a conversation that is too long: whoever can shorten it has to hear of that.
        """
        causes = list(dict.fromkeys(str(failure) for failure in self.failures))
        kinds = [failure.kind for failure in self.failures]
        kind = "context_overflow" if kinds[-1] == "context_overflow" else kinds[0]
        tries = f" ({len(self.failures)} tries.)" if len(self.failures) > 1 else ""
        return ModelFailed(kind, " ".join(causes) + tries, self.failures[-1].retry_after)

    def _will_wait(self, seconds: float) -> None:
        if seconds >= _LONG_WAIT:
            why = _cause(self.failures[-1])
            self._on_delta(ModelNotice(f"[{why} Trying again in {seconds:.0f} s.]"))

    def _relay(self, delta: Delta) -> None:
        if isinstance(delta, Reached):
            return self._on_delta(delta)  # no piece of an answer
        self._tell_what_happened()
        self._passed_on = True
        self._visible = self._visible or (isinstance(delta, TextDelta) and bool(delta.text))
        self._on_delta(delta)

    def _tell_what_happened(self) -> None:
        """After a failure that a reader may have noticed, before the first new piece."""
        if not self._untold:
            return
        words, restarts = self._notice, self._passed_on
        if restarts and self._visible:
            words = words or f"[{_cause(self.failures[-1])} The answer begins again.]"
        self._notice, self._passed_on, self._visible, self._untold = "", False, False, False
        if words or restarts:
            self._on_delta(ModelNotice(words, restarts))


def _cause(failure: ModelFailed) -> str:
    """The first sentence: what happened, without the advice."""
    return f"{str(failure).split('. ', 1)[0].rstrip('.')}."
