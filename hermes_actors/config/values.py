"""The small types of hermes.toml, and how each is read from what TOML gives.

TOML knows text, numbers, tables. People think in "30s", in "never", in chat ids that look like
numbers. Each type here is an ordinary `float`, `int`, `str` or `Path` with a marker beside it; the
marker says what a person may write. `ValueError` carries the reason in words fit for that person.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

NEVER = "never"
_DAY = 86_400.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": _DAY}
_SPELLED = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,17})?) ?(ms|s|m|h|d)", re.ASCII)


class Span(Struct, frozen=True):
    """Marks a duration: seconds as a number, or text such as "500ms", "30s", "15m", "2h", "1d"."""

    least: float = 0.001
    most: float = 366 * _DAY
    endless: bool = False


class Ident(Struct, frozen=True):
    """Marks an id that somebody else gave: text, or the bare number that it looks like."""


class Located(Struct, frozen=True):
    """Marks a path; `~` means the user's own folder."""


class Known(Struct, frozen=True):
    """Marks a name that must exist elsewhere: `what` is "agent" or "provider"."""

    what: str


class Strength(Struct, frozen=True):
    """Marks a secret that has to have at least this many characters."""

    characters: int


class Schemes(Struct, frozen=True):
    """Marks an address that has to begin with one of these, as in "scheme://"."""

    names: tuple[str, ...]


class Guessed(Struct, frozen=True):
    """Marks text that is a secret if it says so ("env:", "file:") or if its key's name does."""


class Others(Struct, frozen=True):
    """Marks the field that takes tables under names which only a plugin can know."""


Duration = Annotated[float, Span()]
"""Seconds, more than none."""
Pause = Annotated[float, Span(least=0.0)]
"""Seconds; 0 means at once."""
Patience = Annotated[float, Span(endless=True)]
"""Seconds, or "never", which reads as `math.inf` and so fits any Trio deadline."""
Count = Annotated[int, Meta(ge=1, le=10**12, description="a whole number of at least 1")]
Amount = Annotated[int, Meta(ge=0, le=10**12, description="a whole number of at least 0")]
Hour = Annotated[int, Meta(ge=0, le=23, description="an hour from 0 to 23")]
Port = Annotated[int, Meta(ge=0, le=65535, description="a port from 0 to 65535")]
Word = Annotated[str, Meta(min_length=1, max_length=1000, description="text that is not empty")]
GivenId = Annotated[str, Ident()]
FilePath = Annotated[Path, Located()]
WebAddress = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s@]+$",
        description="an address with http:// or https:// and no password in it",
    ),
]
Slug = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$",
        description="a name of a-z, 0-9, _ and -, at most 64 characters",
    ),
]
AgentName = Annotated[str, Known("agent")]
ProviderName = Annotated[str, Known("provider")]


def seconds(raw: object, span: Span | None = None) -> float:
    """Read a duration, to the microsecond; `ValueError` says what is wrong with it.

    >>> seconds("1.5m"), seconds(30), seconds("never", Span(endless=True))
    (90.0, 30.0, inf)
    """
    span = span or Span()
    value = round(_spelled(raw) if isinstance(raw, str) else _number(raw), 6)
    if value == math.inf and span.endless:
        return value
    if not math.isfinite(value):
        raise ValueError("this wait must have an end; write a duration such as 30 or '30s'")
    if not span.least <= value <= span.most:
        raise ValueError(f"must be from {spell(span.least)} to {spell(span.most)}")
    return value


def spell(value: float) -> str:
    """Write seconds the way people do; what `seconds` has read comes back unchanged."""
    if value == math.inf:
        return NEVER
    for unit in ("d", "h", "m"):
        if value >= _UNITS[unit] and value % _UNITS[unit] == 0:
            return f"{value / _UNITS[unit]:.0f}{unit}"
    if 0 < value < 1 and round(value * 1000) / 1000 == value:
        return f"{value * 1000:.0f}ms"
    return f"{value:.6f}".rstrip("0").rstrip(".") + "s"


def identity(raw: object) -> str:
    """Read an id; a bare number is taken as the digits it shows."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return str(raw)
    if not isinstance(raw, str) or not 0 < len(raw) <= 256 or not raw.isprintable():
        raise ValueError("expected an id: 1 to 256 printable characters, or a whole number")
    return raw


def location(raw: object) -> Path:
    """Read a path, with `~` replaced; it may still be relative."""
    if not isinstance(raw, str) or not raw:
        raise ValueError(f"expected a path as text, got {kind_of(raw)}")
    if "\0" in raw:
        raise ValueError("no path holds a NUL character")
    try:
        return Path(raw).expanduser()
    except RuntimeError:
        raise ValueError("the user after '~' is not known on this machine") from None


def kind_of(raw: object) -> str:
    """What a person would call this TOML value; never the value itself, which may be secret."""
    names: dict[type, str] = {
        bool: "true or false",
        str: "text",
        int: "a whole number",
        float: "a number",
        dict: "a table",
        list: "a list",
    }
    return "empty text" if raw == "" else names.get(type(raw), "a date or time")


def marker(annotation: Any, kind: type) -> Any:
    """The marker of this kind that an `Annotated` type carries, or None."""
    found = (each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, kind))
    return next(found, None)


def _number(raw: object) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise ValueError(f"expected a duration such as 30 or '30s', got {kind_of(raw)}")
    try:
        return float(raw)
    except OverflowError:
        return math.inf


def _spelled(text: str) -> float:
    if text == NEVER:
        return math.inf
    match = _SPELLED.fullmatch(text.strip())
    if match is None:
        raise ValueError("expected a duration: a number and one of ms, s, m, h, d, such as '30s'")
    amount, unit = match.groups()
    return float(amount) * _UNITS[unit]
