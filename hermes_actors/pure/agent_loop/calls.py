"""Reads the calls of one reply: which can be run, and what the others are answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

import msgspec

from hermes_actors.pure.agent_loop import words
from hermes_actors.pure.agent_loop.tool_names import resolve, unknown_tool
from hermes_actors.pure.signatures import arguments_of, canonical
from hermes_actors.pure.tool_rules import ToolRules, rule_of
from hermes_actors.pure.transcript import OPENAI_CHAT
from hermes_actors.pure.transcript.repair import NAMELESS
from hermes_actors.pure.transcript.rules import good_arguments, good_id, good_name
from hermes_actors.values import ToolCall

LONGEST_QUOTE = 200


class ReadCall(msgspec.Struct, frozen=True):
    """A call as it is stored; with a `refusal` it is not run and that is its result."""

    call: ToolCall
    refusal: str | None = None


def looks_cut(call: ToolCall) -> bool:
    """Were the arguments cut off in the middle? Such a call must never run."""
    text = call.arguments.strip()
    return bool(text) and arguments_of(call) is None and text[-1] not in "}]"


class CallReader:
    """Knows the tools there are. At most `most` calls of one reply are taken."""

    def __init__(self, known: Collection[str], rules: ToolRules, most: int) -> None:
        self._known, self._rules, self._most = known, rules, most

    def read(self, calls: Iterable[ToolCall], used_ids: set[str]) -> tuple[ReadCall, ...]:
        """Every call once, with an id that nobody has. `used_ids` grows by these ids."""
        taken: Counter[str] = Counter()
        return tuple(self._read(call, used_ids, taken) for call in self._different(calls))

    def _different(self, calls: Iterable[ToolCall]) -> Iterator[ToolCall]:
        """A model that asks for the same thing twice in one breath gets it once."""
        seen: set[tuple[str, str]] = set()
        for call in calls:
            name = resolve(call.name, self._known) or call.name
            same = name, canonical(call.arguments.strip() or "{}")
            if same not in seen:
                seen.add(same)
                yield call

    def _read(self, call: ToolCall, used_ids: set[str], taken: Counter[str]) -> ReadCall:
        name = resolve(call.name, self._known)
        refusal = self._refusal(call, name, taken)
        arguments = call.arguments.strip() or "{}"
        stored = ToolCall(
            _fresh(call.id, used_ids),
            name or (call.name if good_name(call.name, OPENAI_CHAT) else NAMELESS),
            arguments if good_arguments(arguments) else "{}",
        )
        return ReadCall(stored, refusal)

    def _refusal(self, call: ToolCall, name: str | None, taken: Counter[str]) -> str | None:
        if name is None:
            return unknown_tool(call.name, self._known)
        if not good_arguments(call.arguments.strip() or "{}"):
            return words.BAD_ARGUMENTS.format(text=call.arguments[:LONGEST_QUOTE])
        if taken.total() >= self._most:
            return words.TOO_MANY_CALLS
        limit = rule_of(self._rules, name).most_at_once
        if limit is not None and taken[name] >= limit:
            return words.TOO_MANY_OF_IT.format(most=limit, tool=name)
        taken[name] += 1
        return None


def _fresh(call_id: str, used: set[str]) -> str:
    base = call_id if good_id(call_id, OPENAI_CHAT) else "call"
    fresh, number = base, 2
    while fresh in used:
        fresh, number = f"{base[:30]}_{number}", number + 1
    used.add(fresh)
    return fresh
