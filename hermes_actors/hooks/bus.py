"""The bus between the gateway and code that we did not write.

Handlers may be slow, wrong or hostile to cancellation; a turn ends regardless. What the bus
promises to its caller: an answer within the budget, and never an exception of a handler. What it
does not promise: to protect the caller. A hook that must fire although the caller is being
cancelled is fired inside `with trio.move_on_after(…, shield=True)`, by the caller.

One thing is out of reach: an `async` handler that computes without ever waiting holds the whole
event loop. It is blamed afterwards and soon switched off; heavy work belongs in a plain `def`,
which runs in a thread.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import trio

from hermes_actors.hooks.answers import ALLOW, Decision, Garbage, read
from hermes_actors.hooks.handlers import Handler
from hermes_actors.hooks.kinds import Event, Observation, Policy, Selection, Transformation
from hermes_actors.hooks.stage import Call, Failed, NotRun, Outcome, Returned, Stage, inside
from hermes_actors.journal import Journal
from hermes_actors.pure.breaker import Breaker


class HandlerHealth(msgspec.Struct, frozen=True):
    """How one handler is doing. `left_behind` counts its calls that have not gone away."""

    hook: str
    label: str
    switched_off: bool
    failures_in_a_row: int
    left_behind: int


class _Listener:
    def __init__(self, handler: Handler, breaker: Breaker) -> None:
        self.handler, self.breaker = handler, breaker


class HookBus:
    """Calls the handlers of a hook: each at most `each` seconds, one firing at most `together`.

    `failures` in a row switch a handler off for `cool_down` seconds; then one call decides.
    `threads` is how many plain (not `async`) handlers can run at once.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        each: float = 2.0,
        together: float = 5.0,
        threads: int = 8,
        failures: int = 5,
        cool_down: float = 60.0,
    ) -> None:
        self._journal = journal
        self._each, self._together = each, together
        self._new_breaker: Callable[[], Breaker] = lambda: Breaker(failures, cool_down)
        self._listeners: dict[str, list[_Listener]] = defaultdict(list)
        self._stage = Stage(threads, linger=together)

    async def run(self) -> None:
        """Keep a home for handlers that do not end in time. Start it first and end it last.

        Without it hooks still fire, each in a nursery of its caller. There a handler cannot be left
        behind: one that waits in a shield of its own has its shield broken when its time is up.
        """
        await self._stage.run()

    def register(self, hook: str, function: Callable[..., Any], *, owner: str) -> None:
        """Call `function` on a hook, after those registered before it.

        It gets the keyword arguments that it names, or all if it takes `**kwargs`. An unknown
        hook or argument raises `RegistrationRefused` with the nearest right name.
        """
        self.add(Handler.of(hook, function, owner))

    def add(self, handler: Handler) -> None:
        """Register a handler that has been checked already."""
        self._listeners[handler.hook].append(_Listener(handler, self._new_breaker()))

    def hears(self, event: type[Event]) -> bool:
        """Whether anybody listens: ask before putting together something large."""
        return bool(self._listeners.get(event.hook_name))

    async def fire(self, event: Observation) -> None:
        """Tell every observer, side by side. Returns when all have ended or time is up.

        What is told of a run is on record (`hook.fired`) before the first observer hears it,
        and also when there is none.
        """
        if (run := getattr(event, "run_id", None)) is not None:
            self._journal.note("hook.fired", run=run, hook=event.hook_name)
        await self._ask(self._heard_by(event), event, min(self._each, self._together))

    async def decide(self, event: Policy) -> Decision:
        """Ask every policy in turn; the first objection stands, and silence allows.

        A policy that raises, hangs, answers nonsense or is switched off is an objection too:
        the decision then has `failed_closed` and names the handler.
        """
        deadline = trio.current_time() + self._together
        for listener in self._heard_by(event):
            outcome = await self._ask_before(deadline, listener, event)
            if not isinstance(outcome, Returned):
                return self._fail_closed(listener, event, outcome)
            if isinstance(decision := outcome.value, Decision):
                return msgspec.structs.replace(
                    decision, by=listener.handler.label, failed_closed=False
                )
        return ALLOW

    async def transform(self, event: Transformation) -> str | None:
        """The text that a handler wants instead; None leaves it as it is, and so do failures.

        The first text wins. For an event that `joins`, all texts count, in registration order.
        """
        if not event.joins:
            return await self._first_text(event)
        everyone = self._heard_by(event)
        outcomes = await self._ask(everyone, event, min(self._each, self._together))
        return "\n\n".join(filter(None, map(_text_of, outcomes))) or None

    async def select(self, event: Selection) -> str | None:
        """The first choice that a handler makes; None when nobody chose."""
        return await self._first_text(event)

    def health(self) -> tuple[HandlerHealth, ...]:
        """Every handler, hook by hook, in the order in which they are called."""
        left = [call.handler for call in self._stage.left_behind()]
        return tuple(
            HandlerHealth(
                hook=hook,
                label=each.handler.label,
                switched_off=not each.breaker.closed,
                failures_in_a_row=each.breaker.failures,
                left_behind=left.count(each.handler),
            )
            for hook, listeners in self._listeners.items()
            for each in listeners
        )

    def _heard_by(self, event: Event) -> tuple[_Listener, ...]:
        return tuple(self._listeners.get(event.hook_name, ()))

    async def _first_text(self, event: Transformation | Selection) -> str | None:
        deadline = trio.current_time() + self._together
        for listener in self._heard_by(event):
            text = _text_of(await self._ask_before(deadline, listener, event))
            if text is not None:
                return text
        return None

    async def _ask_before(self, deadline: float, listener: _Listener, event: Event) -> Outcome:
        patience = min(self._each, deadline - trio.current_time())
        if patience <= 0:
            return self._settle(listener, event, None, NotRun("no time was left for it"))
        return (await self._ask([listener], event, patience))[0]

    async def _ask(
        self, listeners: Sequence[_Listener], event: Event, patience: float
    ) -> list[Outcome]:
        """One outcome per listener, in order. Also keeps the books when it is cancelled."""
        outcomes: dict[_Listener, Outcome] = {}
        calls: dict[_Listener, tuple[int, Call]] = {}
        for listener in listeners:
            call = Call(listener.handler, listener.handler.arguments(event))
            admitted = self._admit(listener)
            if isinstance(admitted, NotRun):
                outcomes[listener] = self._settle(listener, event, None, admitted)
            else:
                calls[listener] = admitted, call
        try:
            if calls:
                await self._stage.perform([call for _, call in calls.values()], patience)
        finally:
            for listener, (era, call) in calls.items():
                outcomes[listener] = self._settle(listener, event, era, call.outcome(patience))
        return [outcomes[listener] for listener in listeners]

    def _admit(self, listener: _Listener) -> int | NotRun:
        handler = listener.handler
        if inside(handler):
            return NotRun("is at work on this already")
        if not handler.is_async and self._stage.threads_are_stuck():
            return NotRun("no thread was free")
        # A trial beside a call that has never come back could only add another one to it.
        hung = any(call.handler is handler for call in self._stage.left_behind())
        if hung and not listener.breaker.closed:
            return NotRun("is switched off")
        era = listener.breaker.admit(trio.current_time())
        return NotRun("is switched off") if era is None else era

    def _settle(
        self, listener: _Listener, event: Event, era: int | None, outcome: Outcome
    ) -> Outcome:
        """Read the answer, tell the breaker and the journal; nonsense becomes a failure."""
        if isinstance(outcome, Returned):
            outcome = _understood(event, outcome.value)
        breaker, now = listener.breaker, trio.current_time()
        match outcome:
            case Failed(reason, place) if era is not None:
                opened = breaker.fail(era, now)
                self._note("hook.failed", listener, reason=reason, place=place)
                if opened:
                    self._note("hook.switched_off", listener, seconds=breaker.cool_down)
            case Returned() if era is not None and breaker.succeed(era):
                self._note("hook.switched_on", listener)
            case NotRun(reason):
                if era is not None:
                    breaker.withdraw(era)
                if breaker.closed:
                    self._note("hook.not_run", listener, reason=reason)
        return outcome

    def _fail_closed(
        self, listener: _Listener, event: Policy, outcome: Failed | NotRun
    ) -> Decision:
        label, action = listener.handler.label, event.when_in_doubt
        self._note("hook.failed_closed", listener, reason=outcome.reason, action=action)
        message = f"the policy '{label}' {outcome.reason}, and without its consent nothing is done"
        return Decision(action=action, message=message, by=label, failed_closed=True)

    def _note(self, kind: str, listener: _Listener, **details: Any) -> None:
        handler = listener.handler
        self._journal.note(
            kind,
            hook=handler.hook,
            handler=handler.label,
            failures=listener.breaker.failures,
            **details,
        )


def _understood(event: Event, value: Any) -> Outcome:
    try:
        return Returned(read(event, value))
    except Garbage as garbage:
        return Failed(str(garbage))


def _text_of(outcome: Outcome) -> str | None:
    match outcome:
        case Returned(str() as text):
            return text
    return None
