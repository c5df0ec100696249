"""What a session needs from the rest of the gateway, handed in once."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

import msgspec

from hermes_actors.actors.feed import Feeds
from hermes_actors.hooks import HookBus
from hermes_actors.journal import Journal
from hermes_actors.ports import ModelClient, ToolBox
from hermes_actors.pure.agent_loop import LoopLimits
from hermes_actors.pure.tool_rules import DEFAULT_RULES, ToolRules
from hermes_actors.pure.transcript import OPENAI_CHAT, Dialect
from hermes_actors.store import Store
from hermes_actors.values import Capabilities


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run ends although nobody says stop, and how long its end may take."""

    turn_deadline: float = 7200.0
    idle_deadline: float = 1800.0
    tool_workers: int = 8
    tool_batch_deadline: float = 420.0
    compaction_deadline: float = 120.0
    seal_within: float = 5.0


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers: a model, the words that make it who it is, and its hands."""

    id: str
    model: ModelClient
    model_name: str
    tools: ToolBox
    system: str = ""
    loop: LoopLimits = LoopLimits()
    rules: ToolRules = msgspec.field(default_factory=lambda: DEFAULT_RULES)
    dialect: Dialect = OPENAI_CHAT


class House(msgspec.Struct, frozen=True, kw_only=True):
    """The services. `agent` finds one by id; `surface` says what a platform can do."""

    store: Store
    bus: HookBus
    journal: Journal
    agent: Callable[[str], Agent]
    surface: Callable[[str], Capabilities]
    feeds: Feeds
    limits: Limits = Limits()
    now: Callable[[], float] = time.time
    """The time of day, for what is stored. Deadlines use Trio's clock."""
    new_id: Callable[[str], str] = lambda kind: f"{kind}_{secrets.token_hex(8)}"
