"""Results as a table for people: one line each, the verdict first."""

from __future__ import annotations

from benchmarks.result import Result, Target

_HEAD = f"{'':4}  {'what':<44} {'measured':>16}  {'target':>10}  compared with"


def head() -> str:
    """The line above the results."""
    return _HEAD


def line(subject: str, result: Result) -> str:
    """One result. What it was compared with comes last, because it is the longest."""
    what = f"{subject}: {result.name}"
    measured = f"{number(result.value)} {result.unit}".rstrip()
    target = _bound(result.target)
    return f"{result.verdict:4}  {what:<44} {measured:>16}  {target:>10}  {result.beside}"


def number(value: float) -> str:
    """Three digits that matter, and no more."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _bound(target: Target | None) -> str:
    if target is None:
        return ""
    return f"{'≤' if target.at_most else '≥'} {number(target.bound)}"
