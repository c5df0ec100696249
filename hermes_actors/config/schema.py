"""Every table of hermes.toml except the adapters', as frozen structs with their defaults.

The structs are the truth about names, types, bounds and defaults. What each key means to the
person who sets it stands in hermes.toml.example, and a test keeps the two equal. A default of
`None` means "not set"; a duration is in seconds, and `math.inf` where the file says "never".
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from hermes_actors.config.adapters import BUILT_IN_PROVIDER, AdapterSettings
from hermes_actors.config.secrets import Secret, SecretUrl
from hermes_actors.config.table import Table
from hermes_actors.config.values import (
    AgentName,
    Count,
    Duration,
    FilePath,
    GivenId,
    Guessed,
    Hour,
    Patience,
    Pause,
    ProviderName,
    Schemes,
    Slug,
    Span,
    WebAddress,
    Word,
)

MAIN = "main"


class GatewaySettings(Table, frozen=True):
    """[gateway]: the process itself."""

    home: FilePath | None = None
    drain_timeout: Annotated[float, Span(most=600.0)] = 10.0
    stop_grace: Annotated[float, Span(most=60.0)] = 5.0
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["console", "json"] = "console"
    timezone: Word = "local"


class ModelChoice(Table, frozen=True):
    """Which model, and how it is reached. Text in place of this table is the model's name."""

    shorthand = "name"

    provider: ProviderName | None = None
    name: Word | None = None
    base_url: WebAddress | None = None
    api_key: Secret | None = None
    max_tokens: Count | None = None
    temperature: Annotated[float, Meta(ge=0, le=2, description="a number from 0 to 2")] | None = (
        None
    )
    reasoning_effort: Literal["none", "low", "medium", "high"] | None = None
    context_length: Count | None = None


class ModelSettings(ModelChoice, frozen=True):
    """[model]: the model of every agent that does not choose its own."""

    shorthand = ""

    provider: ProviderName = BUILT_IN_PROVIDER
    connect_timeout: Duration = 10.0
    idle_timeout: Duration = 120.0
    request_timeout: Patience = 1800.0
    tries: Annotated[int, Meta(ge=1, le=20, description="a whole number from 1 to 20")] = 3
    longest_retry_wait: Duration = 600.0
    fallbacks: tuple[ModelChoice, ...] = ()


class ResetSettings(Table, frozen=True):
    """[session.reset]: when a conversation starts afresh by itself."""

    mode: Literal["none", "idle", "daily", "both"] = "none"
    at_hour: Hour = 4
    idle_minutes: Count = 1440
    notify: bool = True


class SessionSettings(Table, frozen=True):
    """[session]: how conversations behave."""

    busy: Literal["queue", "steer", "interrupt"] = "queue"
    idle_unload: Patience = 900.0
    mailbox_size: Annotated[
        int, Meta(ge=1, le=100_000, description="a whole number from 1 to 100000")
    ] = 64
    text_batch_delay: Pause = 0.3
    text_batch_split_delay: Pause = 1.0
    group_sessions_per_user: bool = True
    thread_sessions_per_user: bool = False
    reset: ResetSettings = ResetSettings()


class LimitSettings(Table, frozen=True):
    """[limits]: where a run ends even if nobody says stop."""

    max_iterations: Count = 90
    turn_deadline: Patience = 7200.0
    idle_deadline: Patience = 1800.0
    tokens_per_run: Count | None = None
    tokens_per_day: Count | None = None
    tool_workers: Count = 8
    tool_batch_deadline: Patience = 420.0
    concurrent_runs: Count | None = None
    subagents: Count = 3
    subagent_depth: Count = 1
    subagent_iterations: Count = 50
    tool_result_chars: Count = 100_000
    turn_result_chars: Count = 200_000
    inbound_media_bytes: Count = 134_217_728


class WarnThresholds(Table, frozen=True):
    """[tool_loop_guardrails.warn_after]: repetitions before the model is warned."""

    exact_failure: Count = 2
    same_tool_failure: Count = 3
    idempotent_no_progress: Count = 2


class StopThresholds(Table, frozen=True):
    """[tool_loop_guardrails.hard_stop_after]: repetitions before the run is halted."""

    exact_failure: Count = 5
    same_tool_failure: Count = 8
    idempotent_no_progress: Count = 5


class GuardrailSettings(Table, frozen=True):
    """[tool_loop_guardrails]: what to do with an agent that repeats itself."""

    warnings_enabled: bool = True
    hard_stop_enabled: bool = True
    warn_after: WarnThresholds = WarnThresholds()
    hard_stop_after: StopThresholds = StopThresholds()


class McpServer(Table, frozen=True):
    """[tools.mcp.<name>]: one server of the Model Context Protocol, by command or by address."""

    enabled: bool = True
    command: Word | None = None
    args: tuple[str, ...] = ()
    env: dict[str, Annotated[str | Secret, Guessed()]] = field(default_factory=dict)
    url: WebAddress | None = None
    headers: dict[str, Annotated[str | Secret, Guessed()]] = field(default_factory=dict)
    timeout: Duration = 300.0
    connect_timeout: Duration = 60.0
    allowed_tools: tuple[Word, ...] = ("*",)


class ToolSettings(Table, frozen=True):
    """[tools]: what agents may do, and who is asked first."""

    toolsets: tuple[Word, ...] = ("core",)
    approvals: Literal["ask", "off"] = "ask"
    approval_timeout: Duration = 60.0
    cron_approvals: Literal["deny", "allow"] = "deny"
    deny_commands: tuple[Word, ...] = ()
    allow_commands: tuple[Word, ...] = ()
    environment: tuple[Word, ...] = (
        "PATH", "HOME", "USER", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ",
    )  # fmt: skip
    workdir: FilePath | None = None
    terminal_timeout: Duration = 180.0
    terminal_longest_timeout: Duration = 600.0
    kill_grace: Annotated[float, Span(least=0.0, most=60.0)] = 2.0
    output_chars: Count = 50_000
    background_processes: Count = 64
    private_addresses: bool = False
    mcp: dict[Slug, McpServer] = field(default_factory=dict)


class StoreSettings(Table, frozen=True):
    """[store]: where everything that must survive is kept."""

    url: Annotated[SecretUrl, Schemes(("sqlite", "postgresql"))] = SecretUrl("sqlite:///hermes.db")
    busy_timeout: Duration = 5.0

    def sqlite_file(self, home: Path) -> Path | None:
        """The database file, a relative one inside `home`; None for a database server."""
        scheme, _, rest = self.url.reveal().partition(":///")
        return home / rest if scheme == "sqlite" else None


class PluginSettings(Table, frozen=True):
    """[plugins]: foreign code that may run in this process."""

    enabled: tuple[Word, ...] = ()
    hook_timeout: Duration = 2.0
    hooks_timeout: Duration = 5.0
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)


class AgentProfile(Table, frozen=True):
    """[agents.<id>]: one agent, as far as it differs from the others."""

    description: str = ""
    model: ModelChoice = ModelChoice()
    toolsets: tuple[Word, ...] | None = None
    soul: FilePath | None = None
    memory: bool = True
    home: FilePath | None = None


class RouteMatch(Table, frozen=True):
    """What a message has to look like; what is not set matches everything."""

    platform: Word | None = None
    chat_id: GivenId | None = None
    user_id: GivenId | None = None
    thread_id: GivenId | None = None
    guild_id: GivenId | None = None


class RouteRule(Table, frozen=True):
    """[[routes]]: messages that look like `match` go to `agent`; the first match wins."""

    agent: AgentName
    match: RouteMatch = RouteMatch()


class CronSettings(Table, frozen=True):
    """[cron]: jobs that run by the clock."""

    enabled: bool = True
    parallel_jobs: Count = 4
    idle_deadline: Patience = 600.0
    script_timeout: Duration = 3600.0
    longest_catch_up: Duration = 7200.0
    deliver: Word = "origin"
    wrap_response: bool = True
    keep_outputs: Count = 50


class HandoffSettings(Table, frozen=True):
    """[handoff]: moving a conversation to another place."""

    enabled: bool = True
    timeout: Duration = 60.0


class DeliverySettings(Table, frozen=True):
    """[delivery]: how answers reach a chat."""

    streaming: bool = True
    edit_interval: Duration = 0.8
    edit_chars: Count = 24
    cursor: Annotated[str, Meta(max_length=8, description="text of at most 8 characters")] = " ▉"
    tool_progress: Literal["off", "new", "all"] = "off"
    typing: bool = True
    working_notice: Patience = 180.0
    tries: Count = 3
    give_up_after: Duration = 86_400.0
    drop_silent_replies: bool = True


class Config(Table, frozen=True):
    """A whole hermes.toml, checked. Without a file, this is what runs."""

    default_agent: AgentName = MAIN
    gateway: GatewaySettings = GatewaySettings()
    model: ModelSettings = ModelSettings()
    session: SessionSettings = SessionSettings()
    limits: LimitSettings = LimitSettings()
    tool_loop_guardrails: GuardrailSettings = GuardrailSettings()
    tools: ToolSettings = ToolSettings()
    store: StoreSettings = StoreSettings()
    plugins: PluginSettings = PluginSettings()
    agents: dict[Slug, AgentProfile] = field(default_factory=dict)
    routes: tuple[RouteRule, ...] = ()
    adapters: AdapterSettings = AdapterSettings()
    cron: CronSettings = CronSettings()
    handoff: HandoffSettings = HandoffSettings()
    delivery: DeliverySettings = DeliverySettings()

    def model_of(self, agent: str) -> ModelSettings:
        """The model of one agent: its own choices over [model].

        A key stays with the address it was given for: an agent that names another provider or
        another `base_url` does not inherit `api_key`, so no key travels to a stranger.
        """
        own = self.agents.get(agent, AgentProfile()).model
        return chosen(self.model, own)

    def toolsets_of(self, agent: str) -> tuple[str, ...]:
        """The toolsets of one agent: its own, or those of [tools]."""
        own = self.agents.get(agent, AgentProfile()).toolsets
        return self.tools.toolsets if own is None else own


def chosen(model: ModelSettings, choice: ModelChoice) -> ModelSettings:
    """`model` with everything that `choice` sets; see `Config.model_of` for what stays behind."""
    moved = choice.provider not in (None, model.provider)
    if moved:
        model = msgspec.structs.replace(model, name=None, base_url=None, api_key=None)
    elif choice.base_url not in (None, model.base_url):
        model = msgspec.structs.replace(model, api_key=None)
    wanted = msgspec.structs.asdict(choice).items()
    return msgspec.structs.replace(
        model, **{name: value for name, value in wanted if value is not None}
    )
