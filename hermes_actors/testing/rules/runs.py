"""Runs: one at a time, one end each, one hook for it, and after the end nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from hermes_actors.journal import Entry
from hermes_actors.testing.rules.violation import NEW_PROCESS, Violation, broken
from hermes_actors.testing.vocabulary import COMPLETED_HOOK, STOPPED_HOOK, TERMINAL_HOOKS

ACTS = frozenset(
    {
        "child.started",
        "hook.fired",
        "model.called",
        "model.closed",
        "platform.sent",
        "remote.called",
        "tool.ended",
        "tool.started",
        "typing.sent",
    }
)
"""What a run does while it runs, and never afterwards."""


def every_run_ends_once(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I3, for the state: whoever leaves `running` first wins, and nobody leaves it twice."""
    began: dict[str, Entry] = {}
    ended: dict[str, Entry] = {}
    for entry in log:
        if entry.kind not in ("run.started", "run.ended"):
            continue
        run, seen = entry["run"], began if entry.kind == "run.started" else ended
        if run in seen:
            yield broken("I3", f"run '{run}' has two '{entry.kind}'", seen[run], entry)
        elif entry.kind == "run.ended" and run not in began:
            yield broken("I3", f"run '{run}' ended but never started", entry)
        seen.setdefault(run, entry)
    if complete:
        for run, entry in began.items():
            if run not in ended:
                yield broken("I3", f"run '{run}' started and never ended", entry)


def one_terminal_hook(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I3, for the hook: it fires once, it is the right one, and the end is already recorded."""
    ended: dict[str, Entry] = {}
    told: dict[str, Entry] = {}
    for entry in log:
        if entry.kind == "run.ended":
            ended.setdefault(entry["run"], entry)
        elif entry.kind == "hook.fired" and entry["hook"] in TERMINAL_HOOKS:
            yield from _wrong_hook(ended.get(entry["run"]), told.get(entry["run"]), entry)
            told.setdefault(entry["run"], entry)
    if complete:
        for run, entry in ended.items():
            if run not in told:
                yield broken(
                    "I3",
                    f"run '{run}' ended '{entry['state']}' and no terminal hook was fired",
                    entry,
                )


def _wrong_hook(ended: Entry | None, told: Entry | None, entry: Entry) -> Iterator[Violation]:
    run, hook = entry["run"], entry["hook"]
    if told is not None:
        yield broken("I3", f"run '{run}' fired a second terminal hook, '{hook}'", told, entry)
    elif ended is None:
        yield broken("I3", f"run '{run}' fired '{hook}' before its end was recorded", entry)
    elif hook != (COMPLETED_HOOK if ended["state"] == "completed" else STOPPED_HOOK):
        yield broken("I3", f"run '{run}' ended '{ended['state']}' but fired '{hook}'", ended, entry)


def children_first(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I3, for children: each is gone before the run's end is recorded."""
    alive: dict[str, dict[str, Entry]] = defaultdict(dict)
    for entry in log:
        if entry.kind == NEW_PROCESS:
            alive.clear()
        elif entry.kind == "child.started":
            alive[entry["run"]][entry["child"]] = entry
        elif entry.kind == "child.ended":
            alive[entry["run"]].pop(entry["child"], None)
        elif entry.kind == "run.ended":
            for child, born in alive.pop(entry["run"], {}).items():
                yield broken(
                    "I3", f"run '{entry['run']}' ended while its child '{child}' lived", born, entry
                )
    if complete:
        for run, children in alive.items():
            for child, born in children.items():
                yield broken("I3", f"child '{child}' of run '{run}' never ended", born)


def silence_after_the_end(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I4. The terminal hook and the delivery of the committed row are not acts of the run."""
    ended: dict[str, Entry] = {}
    for entry in log:
        run = str(entry.data.get("run", ""))
        if entry.kind == "run.ended":
            ended.setdefault(run, entry)
        elif run in ended and entry.kind in ACTS and not _is_terminal_hook(entry):
            what = f"{entry.kind} '{entry['hook']}'" if "hook" in entry.data else entry.kind
            yield broken("I4", f"run '{run}' had ended, and then came {what}", ended[run], entry)


def _is_terminal_hook(entry: Entry) -> bool:
    return entry.kind == "hook.fired" and entry["hook"] in TERMINAL_HOOKS


def turns_are_serial(log: Sequence[Entry], complete: bool) -> Iterator[Violation]:
    """I7, for turns: a session has at most one run at a time."""
    running: dict[str, Entry] = {}
    session_of: dict[str, str] = {}
    for entry in log:
        if entry.kind == "run.started":
            session, other = entry["session"], running.get(entry["session"])
            if other is not None:
                yield broken(
                    "I7",
                    f"session '{session}' started run '{entry['run']}' during '{other['run']}'",
                    other,
                    entry,
                )
            running[session], session_of[entry["run"]] = entry, session
        elif entry.kind == "run.ended":
            began = running.get(session_of.pop(entry["run"], ""))
            if began is not None and began["run"] == entry["run"]:
                del running[began["session"]]
