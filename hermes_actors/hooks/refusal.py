"""Saying no to a registration in a way that its author can act on."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from hermes_actors.errors import Refusal


class RegistrationRefused(Refusal):
    """A hook, tool, command or adapter was not registered; the message says what to change."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`"; did you mean 'x'?"`, or nothing when no known name comes close."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean '{close[0]}'?" if close else ""
