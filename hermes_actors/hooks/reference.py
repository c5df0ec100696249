"""The table of all hooks, written from the structs so that the two cannot drift.

`python -m hermes_actors.hooks.reference docs/hooks.md` renews it in that page.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from hermes_actors.hooks.events import EVENTS
from hermes_actors.hooks.kinds import Event, Policy, Selection, Transformation

HEAD = (
    "| hook | kind | fires when | keyword arguments | a handler may return |\n|---|---|---|---|---|"
)

BEGIN = "<!-- written by: python -m hermes_actors.hooks.reference docs/hooks.md -->"
END = "<!-- end of what is written -->"


def renewed(page: str) -> str:
    """The page with the table as it is now; `ValueError` if the page has no place for it."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page needs the lines '{BEGIN}' and '{END}'")
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def table() -> str:
    """Markdown: one row per hook, in the order of `EVENTS`."""
    return "\n".join([HEAD, *map(_row, EVENTS.values())])


def _row(event: type[Event]) -> str:
    when = " ".join((inspect.getdoc(event) or "").split())
    arguments = ", ".join(f"`{field}`" for field in event.__struct_fields__)
    cells = f"`{event.hook_name}`", event.hook_kind.value, when, arguments, _may_return(event)
    return f"| {' | '.join(cells)} |"


def _may_return(event: type[Event]) -> str:
    if issubclass(event, Policy):
        objections = ", ".join(f"`{action}`" for action in sorted(event.answers))
        return f"`None` or `allow`: no objection; {objections}; on failure: `{event.when_in_doubt}`"
    if issubclass(event, Transformation) and event.joins:
        return 'a text or `{"context": text}`; all texts are added'
    if issubclass(event, Transformation):
        return "a text; the first non-empty one replaces"
    if issubclass(event, Selection):
        return "an agent's id; the first one is taken"
    return "ignored"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(renewed(Path(name).read_text()))
