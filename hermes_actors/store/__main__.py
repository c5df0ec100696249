"""Look after a store's file: `python -m hermes_actors.store check|backup|rescue FILE [NEW]`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from hermes_actors.errors import EXIT_OK, EXIT_TRY_AGAIN, StoreRefused
from hermes_actors.store.backup import back_up, damage
from hermes_actors.store.rescue import rescue

USAGE = """usage: python -m hermes_actors.store check FILE         say whether the file is whole
       python -m hermes_actors.store backup FILE NEW    copy it, also while it is in use
       python -m hermes_actors.store rescue FILE NEW    save what can be read of a damaged file
"""


def main(arguments: list[str]) -> int:
    """Do it, say what was done, and give the exit code."""
    match arguments:
        case ["check", path]:
            return _carry_out(lambda: _check(path))
        case ["backup", path, new]:
            return _carry_out(lambda: _back_up(path, new))
        case ["rescue", path, new]:
            return _carry_out(lambda: _rescue(path, new))
        case _:
            sys.stderr.write(USAGE)
            return 64


def _carry_out(errand: Callable[[], str]) -> int:
    try:
        sys.stdout.write(errand() + "\n")
    except StoreRefused as no:
        sys.stderr.write(f"{no}\n")
        return EXIT_TRY_AGAIN
    return EXIT_OK


def _check(path: str) -> str:
    if wrong := damage(path):
        raise StoreRefused("corrupt", "\n".join([f"'{path}' is damaged:", *wrong]))
    return f"'{path}' is whole"


def _back_up(path: str, new: str) -> str:
    back_up(path, new)
    return f"'{path}' was copied to '{new}', and the copy is whole"


def _rescue(path: str, new: str) -> str:
    result = rescue(path, new)
    counts = ", ".join(f"{count} {table}" for table, count in result.saved.items() if count)
    gaps = ", ".join(result.damaged) or "none"
    return f"saved in '{new}': {counts or 'nothing'}\ntables with gaps: {gaps}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
