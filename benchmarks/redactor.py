"""Taking secrets out of one very long line, because no log line may stop the house."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from time import process_time

from benchmarks.result import Result, at_most
from benchmarks.rounds import Size, typical
from benchmarks.table import number as figure
from hermes_actors.redact import MARK, Redactor

FEW, MANY = 3, 200
WORDS = '{"role": "assistant", "content": "plain words, a number 12345678 and some prose: so on"}, '


def measure(size: Size) -> Iterator[Result]:
    """Milliseconds of CPU time for ten megabytes, with few and with many secrets known."""
    text = WORDS * (size.of(10_000_000, least=1000) // len(WORDS))
    dice = Random(1)
    copy = typical(partial(_milliseconds, partial(_copied, text)), size.rounds)
    for secrets in (FEW, MANY):
        known = [f"{dice.getrandbits(192):048x}" for _ in range(secrets)]
        redacted = partial(_redacted, Redactor(known), f"{text}{known[-1]}")
        yield Result(
            name=f"a line of 10 MB, {secrets} secrets known",
            value=typical(partial(_milliseconds, redacted), size.rounds),
            unit="ms",
            target=at_most(100),
            beside=f"encoding and decoding it once {figure(copy)} ms (CPU time)",
        )


def _copied(text: str) -> None:
    text.encode().decode()


def _redacted(redactor: Redactor, text: str) -> None:
    assert redactor.text(text).endswith(MARK)


def _milliseconds(work: Callable[[], None]) -> float:
    begin = process_time()
    work()
    return 1000 * (process_time() - begin)
