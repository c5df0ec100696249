"""What the agent loop has to know about a tool: may it be repeated, and beside what may it run?

A tool without a rule gets the careful one: it may have effects, so it runs alone and in order, and
a repetition of it proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

Company = Literal["alone", "any", "reads_path", "writes_path"]
"""Beside which other calls a call may run. The two of paths look at the argument `path`: readers
share a path with readers, a writer shares its path with nobody."""


class ToolRule(msgspec.Struct, frozen=True):
    """`idempotent`: a second call changes nothing, so an equal result is no progress.
    `housekeeping`: it serves the agent itself, and words said before it may be the whole answer.
    `most_at_once`: so many calls of it in one reply are taken."""

    idempotent: bool = False
    company: Company = "alone"
    housekeeping: bool = False
    most_at_once: int | None = None


ToolRules = Mapping[str, ToolRule]
CAREFUL = ToolRule()
READER = ToolRule(idempotent=True, company="any")

DEFAULT_RULES: ToolRules = {
    "read_file": ToolRule(idempotent=True, company="reads_path"),
    "write_file": ToolRule(company="writes_path"),
    "patch": ToolRule(company="writes_path"),
    "search_files": READER,
    "web_search": READER,
    "web_extract": READER,
    "session_search": ToolRule(idempotent=True, company="any", housekeeping=True),
    "skill_view": READER,
    "skills_list": READER,
    "vision_analyze": ToolRule(company="any"),
    "memory": ToolRule(housekeeping=True),
    "todo": ToolRule(housekeeping=True),
    "skill_manage": ToolRule(housekeeping=True),
    "delegate_task": ToolRule(most_at_once=3),
}


def rule_of(rules: ToolRules, tool: str) -> ToolRule:
    """The rule for a tool, or the careful one."""
    return rules.get(tool, CAREFUL)
