"""The calls of one reply on their way: segment by segment, until each has its result.

Results are kept in the order of the calls, however they arrive, so that the stored transcript is
valid after every one of them. What a person has said in the meantime stands in the last result.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from hermes_actors.pure.agent_loop import words
from hermes_actors.pure.agent_loop.calls import ReadCall
from hermes_actors.pure.agent_loop.events import RunTools, ToolAnswered
from hermes_actors.pure.agent_loop.segments import Canonical, segments
from hermes_actors.pure.failures import looks_failed
from hermes_actors.pure.guardrails import Guardrails, Verdict, blocked_result, note
from hermes_actors.pure.tool_rules import ToolRules
from hermes_actors.pure.transcript.seal import STOPPED
from hermes_actors.values import ToolCall, ToolMessage


class Batch:
    """One reply's calls. It is over when nothing runs and nothing waits."""

    def __init__(
        self,
        calls: Sequence[ReadCall],
        rules: ToolRules,
        canonical: Canonical = posixpath.normpath,
    ) -> None:
        self.calls = tuple(each.call for each in calls)
        self.running: dict[str, ToolCall] = {}
        self._results = {each.call.id: each.refusal for each in calls if each.refusal is not None}
        wanted = [each.call for each in calls if each.refusal is None]
        self.useful = bool(wanted)
        self._waiting = list(segments(wanted, rules, canonical))
        self._kept = 0

    def next(self, guardrails: Guardrails) -> RunTools | None:
        """The next segment, without what a guardrail blocks; None: there is none left."""
        while self._waiting:
            calls = [
                call
                for call in self._waiting.pop(0).calls
                if not self._blocked(call, guardrails.before(call))
            ]
            if calls:
                self.running = {call.id: call for call in calls}
                return RunTools(tuple(calls), len(calls) > 1)
        return None

    def answer(self, event: ToolAnswered, guardrails: Guardrails) -> Verdict | None:
        """Take a result; what the guardrails think of it is added to it."""
        call = self.running.pop(event.call_id)
        text, verdict = words.without_marks(event.text), None
        if not event.denied:  # what was not run proves nothing
            failed = looks_failed(call.name, text) if event.failed is None else event.failed
            verdict = guardrails.after(call, text, failed=failed)
        self._results[call.id] = text if verdict is None else f"{text}\n\n{note(verdict)}"
        return verdict

    def stop(self) -> None:
        """Nothing more will come."""
        self.running, self._waiting = {}, []
        for call in self.calls:
            self._results.setdefault(call.id, STOPPED)

    def ready(self, steers: list[str]) -> Iterator[ToolMessage]:
        """The results that can be kept now. The last one takes `steers` with it."""
        while self._kept < len(self.calls) and self.calls[self._kept].id in self._results:
            call = self.calls[self._kept]
            text = self._results.pop(call.id)
            self._kept += 1
            if self._kept == len(self.calls):
                text = words.steered(text, steers)
                steers.clear()
            yield ToolMessage(call.id, text)

    def _blocked(self, call: ToolCall, verdict: Verdict | None) -> bool:
        if verdict is not None:
            self._results[call.id] = blocked_result(verdict)
        return verdict is not None
