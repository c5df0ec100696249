"""Slash commands: what a text asks for, and what that means while a run is in progress.

The table of commands is data (`command_list`); plugins add theirs. A text is a command only if its
first word is a slash and a plain name: `/etc/passwd`, `//note` and `/ 2` are ordinary words. A
plain name that no command has is answered with the nearest right one and never reaches the model.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from enum import StrEnum

import msgspec

_WORDS = re.compile(r"/([A-Za-z][A-Za-z0-9_-]{0,63})(?:@([A-Za-z0-9_.-]+))?[.!?,;:]*(?:\s+|$)")


class Reaction(StrEnum):
    """What a command does to the session it is sent to."""

    ACT = "act"  # at once, round the queue; a run in progress goes on
    CUT = "cut"  # at once, round the queue; a run in progress is stopped first
    WORK = "work"  # takes its turn like any message: runs now, or waits in the queue
    REFUSE = "refuse"  # is answered at once with the reason; nothing changes


class CommandSpec(msgspec.Struct, frozen=True):
    """One command. `busy` and `idle` say what it does while a run is in progress and while none
    is; `while_busy` and `while_idle` say it to people."""

    name: str
    summary: str
    busy: Reaction
    while_busy: str
    idle: Reaction
    while_idle: str
    usage: str = ""
    aliases: tuple[str, ...] = ()
    needs_text: bool = False


class Command(msgspec.Struct, frozen=True):
    """A command that was understood; `argument` is all that follows its name."""

    spec: CommandSpec
    argument: str = ""

    @property
    def name(self) -> str:
        """The command's own name, whichever alias was typed."""
        return self.spec.name

    def reaction(self, *, busy: bool) -> Reaction:
        """What it does now."""
        return self.spec.busy if busy else self.spec.idle

    def is_control(self, *, busy: bool) -> bool:
        """Does it go round the queue? Only what becomes a run of its own has to wait."""
        return self.reaction(busy=busy) is not Reaction.WORK


class Unknown(msgspec.Struct, frozen=True):
    """No such command; `words` is the answer, with the nearest right name if there is one."""

    name: str
    nearest: str | None
    words: str


class Misused(msgspec.Struct, frozen=True):
    """The command lacks its text; `words` says how it is written."""

    spec: CommandSpec
    words: str


class ForAnother(msgspec.Struct, frozen=True):
    """Addressed to another bot in the same chat: not ours to answer."""

    bot: str


Read = Command | Unknown | Misused | ForAnother


class CommandTable:
    """The commands there are. A name or alias given twice belongs to the first who has it."""

    def __init__(self, specs: Iterable[CommandSpec]) -> None:
        self.specs: dict[str, CommandSpec] = {}
        self._names: dict[str, CommandSpec] = {}
        for spec in specs:
            if self._names.setdefault(spec.name, spec) is spec:
                self.specs[spec.name] = spec
            for alias in spec.aliases:
                self._names.setdefault(alias, spec)

    def read(self, text: str, bot: str | None = None) -> Read | None:
        """What the text asks for; None: ordinary words. `bot` is our own name, if it is known."""
        match = _WORDS.match(text.strip())
        if match is None:
            return None
        name, to = match[1].lower(), match[2]
        if bot is not None and to is not None and to.lower() != bot.lower().removeprefix("@"):
            return ForAnother(to)
        spec = self._names.get(name)
        return (
            self._unknown(name) if spec is None else _understood(spec, text.strip()[match.end() :])
        )

    def nearest(self, name: str) -> str | None:
        """The command that was probably meant."""
        begun = sorted(each for each in self._names if len(name) > 1 and each.startswith(name))
        close = begun or difflib.get_close_matches(name, self._names, n=1, cutoff=0.6)
        return self._names[close[0]].name if close else None

    def help(self, topic: str = "") -> str:
        """One line per command, or all about one of them."""
        name = topic.strip().lower().removeprefix("/")
        if not name:
            return "\n".join(_line(spec) for spec in self.specs.values())
        spec = self._names.get(name)
        return self._unknown(name).words if spec is None else _details(spec)

    def _unknown(self, name: str) -> Unknown:
        nearest = self.nearest(name)
        hint = f"Did you mean /{nearest}?" if nearest else "/help lists the commands."
        words = f"There is no command /{name}. {hint} To send it as words, start with two slashes."
        return Unknown(name, nearest, words)


def refusal(command: Command) -> str:
    """The answer to a command that cannot be done during a run."""
    return (
        f"/{command.name} cannot be done while a run is in progress. "
        "Wait for its answer, or send /stop first."
    )


def stops_all(command: Command) -> bool:
    """`/stop all`, as opposed to `/stop` with anything else or nothing behind it."""
    return command.argument.lower().split()[:1] == ["all"]


def undo_count(command: Command) -> int | None:
    """How many turns `/undo` takes back; None: the argument is no such number."""
    text = command.argument
    if not text:
        return 1
    count = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    return count or None


def plugin_command(name: str, summary: str, usage: str = "") -> CommandSpec:
    """A command that a plugin brings: answered at once, whatever the session does."""
    act, sentence = Reaction.ACT, "Answers at once."
    return CommandSpec(name, summary, act, sentence, act, sentence, usage)


def _understood(spec: CommandSpec, argument: str) -> Command | Misused:
    if spec.needs_text and not argument.strip():
        return Misused(spec, f"Write it like this: {_form(spec)}")
    return Command(spec, argument.strip())


def _form(spec: CommandSpec) -> str:
    return f"/{spec.name} {spec.usage}".rstrip()


def _line(spec: CommandSpec) -> str:
    return f"{_form(spec)} - {spec.summary}"


def _details(spec: CommandSpec) -> str:
    lines = [
        _line(spec),
        f"During a run: {spec.while_busy}",
        f"Otherwise: {spec.while_idle}",
    ]
    if spec.aliases:
        lines.append("Also: " + ", ".join(f"/{alias}" for alias in spec.aliases))
    return "\n".join(lines)
