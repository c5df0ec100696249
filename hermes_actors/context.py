"""Who is being talked to, for code that cannot be handed a value: logs, threads, tool processes.

Inside the gateway identity travels in messages. Tools and plugins also read it under the names
that existing ones use (`HERMES_SESSION_CHAT_ID` and so on), through `get_session_env`. Each name
has three states:

    unset    nothing is bound here, or the binding leaves it open: the process environment answers
    empty    bound to "": there is none, whatever the environment says
    value    bound

A binding is one immutable value in one context variable, so it is there whole or not at all, and
leaving it restores exactly what was before. Trio copies the context of whoever *spawns* a task,
which would hand one session's identity to another's turn; `spawn_bound` starts in an empty one.
The process environment is read, never written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import TypeVarTuple

import msgspec
import trio
from msgspec import UNSET, UnsetType

Ts = TypeVarTuple("Ts")


class SessionContext(msgspec.Struct, frozen=True, kw_only=True):
    """The identity of one turn. A field that is not given is empty, not the environment's;
    the scheduled-delivery and tab fields, which most turns have no say in, stay unset."""

    platform: str | UnsetType = ""
    source: str | UnsetType = ""
    chat_id: str | UnsetType = ""
    chat_name: str | UnsetType = ""
    thread_id: str | UnsetType = ""
    user_id: str | UnsetType = ""
    user_name: str | UnsetType = ""
    session_key: str | UnsetType = ""
    session_id: str | UnsetType = ""
    message_id: str | UnsetType = ""
    profile: str | UnsetType = ""
    ui_session_id: str | UnsetType = UNSET
    cron_platform: str | UnsetType = UNSET
    cron_chat_id: str | UnsetType = UNSET
    cron_thread_id: str | UnsetType = UNSET
    async_delivery: bool | UnsetType = UNSET


FIELDS = {
    "HERMES_SESSION_PLATFORM": "platform",
    "HERMES_SESSION_SOURCE": "source",
    "HERMES_SESSION_CHAT_ID": "chat_id",
    "HERMES_SESSION_CHAT_NAME": "chat_name",
    "HERMES_SESSION_THREAD_ID": "thread_id",
    "HERMES_SESSION_USER_ID": "user_id",
    "HERMES_SESSION_USER_NAME": "user_name",
    "HERMES_SESSION_KEY": "session_key",
    "HERMES_SESSION_ID": "session_id",
    "HERMES_SESSION_MESSAGE_ID": "message_id",
    "HERMES_SESSION_PROFILE": "profile",
    "HERMES_UI_SESSION_ID": "ui_session_id",
    "HERMES_CRON_AUTO_DELIVER_PLATFORM": "cron_platform",
    "HERMES_CRON_AUTO_DELIVER_CHAT_ID": "cron_chat_id",
    "HERMES_CRON_AUTO_DELIVER_THREAD_ID": "cron_thread_id",
}
_SECRET_NAME = re.compile(
    r"(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|API_?KEY)S?(_|$)"
    r"|(^|_)(KEY|PASS|PAT|DSN)S?(_|$)",
    re.IGNORECASE,
)
_bound: ContextVar[SessionContext | None] = ContextVar("hermes_session", default=None)


def current_session() -> SessionContext | None:
    """What is bound here, or None."""
    return _bound.get()


@contextmanager
def bound(session: SessionContext) -> Iterator[None]:
    """Bind a session for this block and all it starts; replaces an outer binding as a whole."""
    token = _bound.set(session)
    try:
        yield
    finally:
        _bound.reset(token)


def spawn_bound(
    nursery: trio.Nursery,
    session: SessionContext,
    function: Callable[[*Ts], Awaitable[object]],
    *args: *Ts,
    name: str | None = None,
) -> None:
    """Start a task that knows this session and inherits nothing else from whoever spawns it."""

    def start() -> None:
        _bound.set(session)
        nursery.start_soon(function, *args, name=name)

    Context().run(start)


def get_session_env(name: str, default: str = "") -> str:
    """Read a session variable by name, in place of `os.getenv(name, default)`."""
    session = _bound.get()
    if session is not None and name in FIELDS:
        value: str | UnsetType = getattr(session, FIELDS[name])
        if value is not UNSET:
            return value
    return os.environ.get(name, default)


def async_delivery_supported() -> bool:
    """Can this turn's channel bring a result after the turn has ended? False only where the
    surface handling this turn said so; True where nothing is bound."""
    session = _bound.get()
    return session is None or session.async_delivery is not False


def process_environment(base: Mapping[str, str], secrets: Collection[str] = ()) -> dict[str, str]:
    """The environment for a tool's process, made from `base`.

    Names that look like secrets, and those in `secrets`, never pass. Where a session is bound the
    child sees that session and no other: what the binding leaves unset is removed.
    """
    passed = {
        name: value
        for name, value in base.items()
        if name in FIELDS or not (name in secrets or _SECRET_NAME.search(name))
    }
    session = _bound.get()
    return passed if session is None else {**_without_identity(passed), **_identity(session)}


def _without_identity(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name not in FIELDS and not name.startswith("HERMES_SESSION_")
    }


def _identity(session: SessionContext) -> dict[str, str]:
    values = {name: getattr(session, field) for name, field in FIELDS.items()}
    return {name: value for name, value in values.items() if value is not UNSET}
