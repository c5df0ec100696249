"""Hermes Actors: a gateway to AI agents in which every conversation is a supervised actor.

What to build with: `Actor`, `Ref`, `Registry`, `System` (docs/actors.md), the errors they answer
with, and `Journal`. What to test with: `hermes_actors.testing` (docs/testing.md). Names are looked
up on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_actors.context import get_session_env as get_session_env
    from hermes_actors.errors import ActorGone as ActorGone
    from hermes_actors.errors import HermesError as HermesError
    from hermes_actors.errors import MailboxFull as MailboxFull
    from hermes_actors.errors import Refusal as Refusal
    from hermes_actors.journal import Journal as Journal
    from hermes_actors.runtime import Actor as Actor
    from hermes_actors.runtime import Down as Down
    from hermes_actors.runtime import Mailbox as Mailbox
    from hermes_actors.runtime import Ref as Ref
    from hermes_actors.runtime import Registry as Registry
    from hermes_actors.runtime import System as System

_HOMES = {
    "context": ("get_session_env",),
    "errors": ("ActorGone", "HermesError", "MailboxFull", "Refusal"),
    "journal": ("Journal",),
    "runtime": ("Actor", "Down", "Mailbox", "Ref", "Registry", "System"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME_OF)
