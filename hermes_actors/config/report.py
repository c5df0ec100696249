"""What `config check` and `config show` print. Secrets are named by their origin, never shown."""

from __future__ import annotations

from hermes_actors.config.loader import Judgement, Loaded
from hermes_actors.config.printing import Printer


def check(judgement: Judgement) -> str:
    """Every problem, then every warning, then one line that counts them.

    The command ends with 78 if `judgement.problems` holds anything, and with 0 otherwise.
    """
    loaded, problems = judgement.loaded, judgement.problems
    lines = [*problems, *(f"warning: {each}" for each in loaded.warnings)]
    place = f"{loaded.path}" if loaded.path else "no file, built-in defaults"
    counts = _counted(len(problems), "problem"), _counted(len(loaded.warnings), "warning")
    return "\n".join([*lines, f"{place}: {', '.join(counts)}"]) + "\n"


def show(loaded: Loaded) -> str:
    """The effective configuration as TOML. What the file does not set is marked `# default`.

    It reads as the same configuration, except that each secret is `"***"`.
    """
    printer = Printer(loaded.written, loaded.redactor())
    head = [
        f"# file: {loaded.path or '(none, these are the built-in defaults)'}",
        f"# home: {loaded.home}",
        "# What is marked 'default' is not set in the file. Secrets are *** with their origin.",
    ]
    return "\n".join([*head, *printer.table(loaded.config)]) + "\n"


def _counted(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
