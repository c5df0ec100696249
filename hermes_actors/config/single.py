"""One value of the file against its annotated type. What does not fit is told in plain words."""

from __future__ import annotations

import typing
from collections.abc import Collection
from typing import Any

import msgspec
from msgspec import Meta

from hermes_actors.config.problems import listed, nearest, shortened
from hermes_actors.config.values import (
    Ident,
    Located,
    Span,
    identity,
    kind_of,
    location,
    marker,
    seconds,
)

_PLAIN_WORDS = {
    "`int`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
    "`str`": "text",
}


class Unfit(ValueError):
    """The value is not what the key wants; `nearest` is the name that was perhaps meant."""

    def __init__(self, reason: str, nearest: str | None = None) -> None:
        super().__init__(reason)
        self.nearest = nearest


def base_of(annotation: Any) -> Any:
    """The type that an `Annotated` wraps, or the type itself."""
    return typing.get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation


def single(annotation: Any, raw: Any) -> Any:
    """Read one value that is neither table, list, name nor secret; `ValueError` tells why not."""
    if (span := marker(annotation, Span)) is not None:
        return seconds(raw, span)
    if marker(annotation, Ident) is not None:
        return identity(raw)
    if marker(annotation, Located) is not None:
        return location(raw)
    try:
        return msgspec.convert(raw, annotation)
    except msgspec.ValidationError as wrong:
        raise Unfit(_expected(annotation, raw, str(wrong))) from None


def choice(choices: Collection[str], raw: Any) -> str:
    """One of a few words."""
    if not isinstance(raw, str):
        raise Unfit(f"expected one of {listed(choices)}, got {kind_of(raw)}")
    if raw not in choices:
        reason = f"'{shortened(raw)}' is not one of {listed(choices)}"
        raise Unfit(reason, nearest(raw, choices))
    return raw


def known(what: str, names: Collection[str], raw: Any) -> str:
    """The name of something that exists: an agent, a provider."""
    if not isinstance(raw, str):
        raise Unfit(f"expected the name of an existing {what}, got {kind_of(raw)}")
    if raw not in names:
        reason = f"there is no {what} '{shortened(raw)}'; known: {listed(sorted(names)[:12])}"
        raise Unfit(reason, nearest(raw, names))
    return raw


def _expected(annotation: Any, raw: Any, message: str) -> str:
    meta, got = marker(annotation, Meta), kind_of(raw)
    wanted = f"expected {meta.description}" if meta else _in_words(message)
    # Of the right kind but out of bounds: "expected a port from 0 to 65535, got a whole number"
    # would puzzle.
    return f"{wanted}, got {got}" if ", got " in message or got == "empty text" else wanted


def _in_words(message: str) -> str:
    message = message.partition(" - at ")[0].partition(", got ")[0]
    for code, words in _PLAIN_WORDS.items():
        message = message.replace(code, words)
    return message[:1].lower() + message[1:]
