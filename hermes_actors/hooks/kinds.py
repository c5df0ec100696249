"""The four kinds of hooks: what an answer can do.

Observation      is told; what it returns is ignored                        `bus.fire`
Policy           may object; a handler that fails counts as an objection    `bus.decide`
Transformation   may give another text; a failure leaves the text alone     `bus.transform`
Selection        may choose; a failure is no choice                         `bus.select`
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, ClassVar

import msgspec


class HookKind(StrEnum):
    """What a handler's answer can do."""

    OBSERVER = "observer"
    POLICY = "policy"
    TRANSFORM = "transform"
    SELECT = "select"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What all hooks have in common: a name, a kind, and fields that are plain data."""

    hook_name: ClassVar[str] = ""
    hook_kind: ClassVar[HookKind] = HookKind.OBSERVER

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.hook_name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


class Observation(Event, frozen=True, kw_only=True):
    """Something happened."""

    hook_kind: ClassVar[HookKind] = HookKind.OBSERVER


class Policy(Event, frozen=True, kw_only=True):
    """Something is about to happen. `answers` are the objections that may be raised against it,
    `when_in_doubt` the one that stands for a handler that failed."""

    hook_kind: ClassVar[HookKind] = HookKind.POLICY
    answers: ClassVar[frozenset[str]] = frozenset()
    when_in_doubt: ClassVar[str] = ""


class Transformation(Event, frozen=True, kw_only=True):
    """A text is on its way. `joins`: all answers count, in order, instead of the first alone."""

    hook_kind: ClassVar[HookKind] = HookKind.TRANSFORM
    joins: ClassVar[bool] = False


class Selection(Event, frozen=True, kw_only=True):
    """Somebody has to be chosen."""

    hook_kind: ClassVar[HookKind] = HookKind.SELECT
