"""What the store is asked to do, as values.

A module of operations holds plain functions over `Sql`. Decorated with `@writes` or `@reads`, a
function is called without its first argument and gives a value that the store will carry out:

    accepted = await store.write(inbox.accept(message, now=now))
    waiting = await store.read(inbox.queued(session_key))

Several operations that must stand or fall together are one: `all_of(…)` outside, or
`accept.within(sql, …)` inside a larger operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import msgspec

from hermes_actors.store.sql import Sql

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Write(msgspec.Struct, Generic[T_co], frozen=True):
    """One piece of writing: all of it is committed, or none.

    `durable` writes are on the disk itself when they are answered. Others survive a crash of the
    process at once, and a power cut as soon as a durable one or a checkpoint has followed.
    """

    do: Callable[[Sql], T_co]
    durable: bool = True
    name: str = "write"


class Read(msgspec.Struct, Generic[T_co], frozen=True):
    """One question, answered from one unmoving picture of the data."""

    look: Callable[[Sql], T_co]
    name: str = "read"


class Writing(Generic[P, T]):
    """A function over `Sql` that changes something; calling it makes a `Write`."""

    def __init__(self, do: Callable[Concatenate[Sql, P], T], durable: bool) -> None:
        self.within, self._durable = do, durable
        self._name = f"{do.__module__.rpartition('.')[2]}.{do.__name__}"
        update_wrapper(self, do)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Write[T]:
        do = self.within
        return Write(lambda sql: do(sql, *args, **kwargs), self._durable, self._name)


class Reading(Generic[P, T]):
    """A function over `Sql` that only looks; calling it makes a `Read`."""

    def __init__(self, look: Callable[Concatenate[Sql, P], T]) -> None:
        self.within = look
        self._name = f"{look.__module__.rpartition('.')[2]}.{look.__name__}"
        update_wrapper(self, look)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Read[T]:
        look = self.within
        return Read(lambda sql: look(sql, *args, **kwargs), self._name)


def writes(do: Callable[Concatenate[Sql, P], T]) -> Writing[P, T]:
    """Decorate an operation whose answer promises that the disk has it."""
    return Writing(do, durable=True)


def writes_soon(do: Callable[Concatenate[Sql, P], T]) -> Writing[P, T]:
    """Decorate an operation that a power cut, but no crash, may take back for a moment."""
    return Writing(do, durable=False)


def reads(look: Callable[Concatenate[Sql, P], T]) -> Reading[P, T]:
    """Decorate a question."""
    return Reading(look)


def all_of(*parts: Write[Any]) -> Write[tuple[Any, ...]]:
    """One write that is all of these, in order, or none; answered with all their answers."""
    return Write(
        lambda sql: tuple(part.do(sql) for part in parts),
        any(part.durable for part in parts),
        "+".join(part.name for part in parts),
    )
