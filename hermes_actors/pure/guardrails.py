"""Notices an agent that repeats itself: warns the model first, then ends the run.

    code                            counts                                          checked
    repeated_exact_failure_block    failures of the same call                       before the next
    same_tool_failure_block         failures of the same tool, whatever the call    after each
    idempotent_no_progress_block    equal results of the same harmless call         before the next

Counts live as long as one run. A success of a tool clears its failures. A call that is blocked has
not run, so nothing is counted for it. The first verdict that ends the run is the one that is told.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Literal

import msgspec

from hermes_actors.pure.signatures import Signature, fingerprint, signature
from hermes_actors.pure.tool_rules import DEFAULT_RULES, ToolRules, rule_of
from hermes_actors.values import ToolCall

Kind = Literal["exact_failure", "same_tool_failure", "idempotent_no_progress"]
Action = Literal["warn", "block", "halt"]
NAMES: dict[Kind, str] = {
    "exact_failure": "repeated_exact_failure",
    "same_tool_failure": "same_tool_failure",
    "idempotent_no_progress": "idempotent_no_progress",
}
CODES = tuple(f"{name}_block" for name in NAMES.values())


class Thresholds(msgspec.Struct, frozen=True):
    """So many of a kind, and something happens."""

    exact_failure: int
    same_tool_failure: int
    idempotent_no_progress: int


class GuardrailLimits(msgspec.Struct, frozen=True):
    """When the model is warned and when the run is ended."""

    warnings_enabled: bool = True
    hard_stop_enabled: bool = True
    warn_after: Thresholds = Thresholds(2, 3, 2)
    hard_stop_after: Thresholds = Thresholds(5, 8, 5)


class Verdict(msgspec.Struct, frozen=True):
    """What was noticed. `warn` goes on, `block` does not run the call, `halt` came after it ran;
    the last two end the run."""

    action: Action
    kind: Kind
    tool: str
    count: int
    arguments_hash: str

    @property
    def code(self) -> str:
        """The name under which people and logs know it."""
        return f"{NAMES[self.kind]}_{'warning' if self.action == 'warn' else 'block'}"


class Guardrails:
    """The memory of one run."""

    def __init__(
        self, limits: GuardrailLimits | None = None, rules: ToolRules = DEFAULT_RULES
    ) -> None:
        self.halt: Verdict | None = None
        self._limits, self._rules = limits or GuardrailLimits(), rules
        self._exact: Counter[Signature] = Counter()
        self._tool: Counter[str] = Counter()
        self._same: dict[Signature, tuple[str, int]] = {}

    def before(self, call: ToolCall) -> Verdict | None:
        """Why this call must not run, or None. A reason ends the run after the batch."""
        if not self._limits.hard_stop_enabled:
            return None
        limits, seen = self._limits.hard_stop_after, signature(call)
        if self._exact[seen] >= limits.exact_failure:
            return self._ends("block", "exact_failure", seen, self._exact[seen])
        _, repeats = self._same.get(seen, ("", 0))
        if repeats >= limits.idempotent_no_progress:
            return self._ends("block", "idempotent_no_progress", seen, repeats)
        return None

    def after(self, call: ToolCall, result: str, *, failed: bool) -> Verdict | None:
        """What to think of a call that has run: go on, a warning, or the end of the run."""
        seen = signature(call)
        return self._failed(seen) if failed else self._worked(seen, result)

    def _failed(self, seen: Signature) -> Verdict | None:
        self._exact[seen] += 1
        self._tool[seen.tool] += 1
        self._same.pop(seen, None)
        exact, tool = self._exact[seen], self._tool[seen.tool]
        stops = self._limits.hard_stop_after.same_tool_failure
        if self._limits.hard_stop_enabled and tool >= stops:
            return self._ends("halt", "same_tool_failure", seen, tool)
        if exact >= self._limits.warn_after.exact_failure:
            return self._warns("exact_failure", seen, exact)
        if tool >= self._limits.warn_after.same_tool_failure:
            return self._warns("same_tool_failure", seen, tool)
        return None

    def _worked(self, seen: Signature, result: str) -> Verdict | None:
        del self._exact[seen], self._tool[seen.tool]
        if not rule_of(self._rules, seen.tool).idempotent:
            return None
        now = fingerprint(result)
        before, count = self._same.get(seen, ("", 0))
        repeats = count + 1 if before == now else 1
        self._same[seen] = now, repeats
        if repeats < self._limits.warn_after.idempotent_no_progress:
            return None
        return self._warns("idempotent_no_progress", seen, repeats)

    def _warns(self, kind: Kind, seen: Signature, count: int) -> Verdict | None:
        if not self._limits.warnings_enabled:
            return None
        return Verdict("warn", kind, seen.tool, count, seen.arguments)

    def _ends(self, action: Action, kind: Kind, seen: Signature, count: int) -> Verdict:
        verdict = Verdict(action, kind, seen.tool, count, seen.arguments)
        self.halt = self.halt or verdict
        return verdict


_ADVICE: dict[Kind, str] = {
    "exact_failure": "This exact call has failed {count} times. It will fail again: change the "
    "arguments, look for the cause with one small check, or say what blocks you.",
    "same_tool_failure": "{tool} has failed {count} times in a row. Try another way, or say what "
    "blocks you.",
    "idempotent_no_progress": "This call has given the same result {count} times. You have the "
    "answer already: use it, or ask something else.",
}


def advice(verdict: Verdict) -> str:
    """What the model is told."""
    return _ADVICE[verdict.kind].format(tool=verdict.tool, count=verdict.count)


def note(verdict: Verdict) -> str:
    """The line that is added to a tool's result."""
    label = "guardrail warning" if verdict.action == "warn" else "guardrail hard stop"
    return f"[{label}: {verdict.code}; count={verdict.count}; {advice(verdict)}]"


def blocked_result(verdict: Verdict) -> str:
    """The result of a call that was not run."""
    about = {
        "action": verdict.action,
        "code": verdict.code,
        "message": advice(verdict),
        "tool_name": verdict.tool,
        "count": verdict.count,
        "signature": {"tool_name": verdict.tool, "args_hash": verdict.arguments_hash},
    }
    return json.dumps({"error": "not run: blocked by a guardrail", "guardrail": about})


def halt_text(verdict: Verdict) -> str:
    """What the person reads: the tool, the code, and what to do."""
    what = "gave the same result" if verdict.kind == "idempotent_no_progress" else "failed"
    return (
        f"I stopped here: {verdict.tool} {what} {verdict.count} times without any progress "
        f"({verdict.code}). Its last result shows where it got stuck. Tell me what to change, "
        "and I will try another way."
    )
