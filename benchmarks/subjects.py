"""What is measured. Another subject (a peer to compare with, for example) is one more line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from benchmarks import actors, redactor, start, store, turns
from benchmarks.result import Result
from benchmarks.rounds import Size

Subject = Callable[[Size], Iterator[Result]]

SUBJECTS: Mapping[str, Subject] = {
    "actors": actors.measure,
    "store": store.measure,
    "start": start.measure,
    "redactor": redactor.measure,
    "turns": turns.measure,
}
