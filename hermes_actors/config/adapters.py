"""[adapters.<name>]: the doors to the outside. The names are keys of a file, nothing more.

An adapter for chats exists when its table does, unless it says `enabled = false`. The HTTP API is
there without being asked for, on the loopback address. Every address can be replaced, so that the
same adapter speaks to a local server in a test.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import field

from hermes_actors.config.secrets import Secret
from hermes_actors.config.table import Table
from hermes_actors.config.values import (
    AgentName,
    Amount,
    Count,
    Duration,
    GivenId,
    Others,
    Port,
    Slug,
    Strength,
    WebAddress,
    Word,
)

BUILT_IN_PROVIDER = "demo"
PROVIDERS = frozenset({BUILT_IN_PROVIDER, "openai", "openai_responses", "anthropic"})
REMOTE_TOOLSETS = frozenset({"remote-tools", "hermes-livekit-tools"})
"""The toolset of tools that clients lend, and its other name."""


class HomeChannel(Table, frozen=True):
    """Where messages go that name a platform and no chat. Text in its place is the chat's id."""

    shorthand = "chat_id"

    chat_id: GivenId
    thread_id: GivenId | None = None


class ChatSettings(Table, frozen=True):
    """What every chat platform has: who may speak, and how the agent behaves there."""

    enabled: bool = True
    base_url: WebAddress | None = None
    allowed_users: tuple[GivenId, ...] = ()
    allow_everyone: bool = False
    strangers: Literal["pair", "ignore"] = "pair"
    home_channel: HomeChannel | None = None
    require_mention: bool = True
    connect_timeout: Duration = 30.0


class TelegramSettings(ChatSettings, frozen=True, kw_only=True):
    """[adapters.telegram]: a bot, by long polling or by webhook."""

    token: Secret
    allowed_chats: tuple[GivenId, ...] = ()
    poll_timeout: Duration = 30.0
    webhook_url: WebAddress | None = None
    webhook_secret: Annotated[Secret, Strength(16)] | None = None


class DiscordSettings(ChatSettings, frozen=True, kw_only=True):
    """[adapters.discord]: a bot user."""

    token: Secret
    allowed_guilds: tuple[GivenId, ...] = ()
    allowed_channels: tuple[GivenId, ...] = ()
    auto_thread: bool = True
    slash_commands: bool = True


class SlackSettings(ChatSettings, frozen=True, kw_only=True):
    """[adapters.slack]: an app in Socket Mode, which needs two tokens."""

    bot_token: Secret
    app_token: Secret
    allowed_channels: tuple[GivenId, ...] = ()
    reply_in_thread: bool = True


class MatrixSettings(ChatSettings, frozen=True, kw_only=True):
    """[adapters.matrix]: a user on a homeserver; `base_url` is that server's address."""

    base_url: WebAddress
    access_token: Secret
    user_id: GivenId | None = None
    allowed_rooms: tuple[GivenId, ...] = ()
    sync_timeout: Duration = 30.0


class WebhookRoute(Table, frozen=True):
    """[adapters.webhook.routes.<name>]: one signed event and what the agent is asked about it."""

    secret: Annotated[Secret, Strength(16)]
    prompt: Word
    enabled: bool = True
    events: tuple[Word, ...] = ()
    agent: AgentName | None = None
    deliver: Word = "local"


class WebhookSettings(Table, frozen=True):
    """[adapters.webhook]: events from other programs, signed."""

    enabled: bool = True
    host: Word = "127.0.0.1"
    port: Port = 8644
    body_bytes: Count = 1_048_576
    requests_per_minute: Count = 30
    replay_window: Duration = 300.0
    routes: dict[Slug, WebhookRoute] = field(default_factory=dict)


class ApiServerSettings(Table, frozen=True):
    """[adapters.api_server]: the HTTP API and the web page."""

    enabled: bool = True
    host: Word = "127.0.0.1"
    port: Port = 8642
    key: Annotated[Secret, Strength(16)] | None = None
    on_disconnect: Literal["stop", "detach"] = "stop"
    max_concurrent_runs: Amount = 10
    cors_origins: tuple[Word, ...] = ()
    allowed_hosts: tuple[Word, ...] = ()
    body_bytes: Count = 10_000_000
    keepalive: Duration = 30.0
    web_page: bool = True


class RemoteToolSettings(Table, frozen=True):
    """[adapters.remote_tools]: clients that lend the agent their own tools."""

    enabled: bool = False
    jwt_secret: Annotated[Secret, Strength(32)] | None = None
    allowed_tools: tuple[Word, ...] = ("*",)
    allowed_origins: tuple[Word, ...] = ()
    timeout: Duration = 30.0
    ping_interval: Duration = 20.0
    clients: Count = 256
    tools_per_client: Count = 64
    result_bytes: Count = 1_048_576
    schema_bytes: Count = 16_384


class AdapterSettings(Table, frozen=True):
    """All doors. `others` holds the tables of adapters that plugins brought, by their name."""

    api_server: ApiServerSettings = ApiServerSettings()
    remote_tools: RemoteToolSettings = RemoteToolSettings()
    telegram: TelegramSettings | None = None
    discord: DiscordSettings | None = None
    slack: SlackSettings | None = None
    matrix: MatrixSettings | None = None
    webhook: WebhookSettings | None = None
    others: Annotated[dict[str, dict[str, Any]], Others()] = field(default_factory=dict)
