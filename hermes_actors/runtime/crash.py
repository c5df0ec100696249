"""Telling a crash from a cancellation, when Trio hands over both in one group."""

from __future__ import annotations

import trio


def separate(error: BaseException) -> tuple[Exception | None, BaseException | None]:
    """Split what left a nursery into (our crash, what must be raised on).

    A crash while an outer scope is being cancelled arrives as one group of both. The crash must
    not be lost and the cancellation must not be swallowed. `KeyboardInterrupt` and its like are
    never ours; whatever came with them goes on as it is.
    """
    if isinstance(error, Exception):
        return simplest(error), None
    if not isinstance(error, BaseExceptionGroup):
        return None, error
    cancelled, rest = error.split(trio.Cancelled)
    if rest is None:
        return None, error
    if isinstance(rest, ExceptionGroup):
        return simplest(rest), cancelled
    return None, error


def simplest(error: Exception) -> Exception:
    """Unwrap groups of one: a crash with a single cause is that cause."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def causes(error: BaseException) -> list[BaseException]:
    """Every leaf of an error, in order."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in causes(part)]
    return [error]


def in_words(error: BaseException) -> str:
    """The error as one short line. Never raises, whatever its own `repr` does."""
    try:
        words = repr(error)
    except Exception:  # noqa: BLE001  border to foreign code: the name of the type must do
        return f"<{type(error).__name__} that cannot be shown>"
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}… ({len(words)} characters)"


_LONGEST = 500
