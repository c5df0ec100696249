from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.sabotage.all_breaks import ALL
from tests.sabotage.break_ import Break
from tests.sabotage.workshop import Verdict, healthy, try_all


def chosen(words: Sequence[str]) -> list[Break]:
    """The breaks that have any of the words in their reason or file; all of them without words."""
    return [
        each
        for each in ALL
        if not words or any(word in f"{each.why} {each.file}" for word in words)
    ]


def main(words: Sequence[str]) -> int:
    """0 if every chosen break was caught."""
    breaks = chosen(words)
    if not breaks:
        return _say(f"no break is about {', '.join(words)}", 2)
    sick = healthy(breaks)
    if sick is not None:
        return _say(f"the tests fail without any break; mend that first:\n{sick}", 2)
    missed = 0
    for trial in try_all(breaks):
        missed += trial.verdict is not Verdict.CAUGHT
        _say(str(trial))
    return _say(f"{len(breaks) - missed} of {len(breaks)} breaks caught", 1 if missed else 0)


def _say(words: str, code: int = 0) -> int:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
