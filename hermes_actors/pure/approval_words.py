"""What a person answers when the agent asks whether it may: `/approve`, `/deny`, or one word.

Only a whole message that is one of these words counts as an answer. "ok, but first look at …" is
ordinary talk, and talk never approves anything.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Choice = Literal["once", "session", "always", "deny"]

_WORDS: dict[str, Choice] = {
    **dict.fromkeys(("approve", "yes", "ok", "okay", "confirm", "y", "👍"), "once"),
    **dict.fromkeys(("deny", "no", "reject", "cancel", "n", "👎"), "deny"),
    "session": "session",
    "always": "always",
}
_LASTING: dict[str, Choice] = {"session": "session", "always": "always"}


class Verdict(msgspec.Struct, frozen=True):
    """An answer. `everything`: to all open questions, not to the oldest alone."""

    choice: Choice
    everything: bool = False
    reason: str = ""


def one_word(text: str) -> Verdict | None:
    """The answer in a message that is one word and nothing else."""
    choice = _WORDS.get(text.strip().lower().rstrip(".!"))
    return None if choice is None else Verdict(choice)


def approve(argument: str) -> Verdict | None:
    """Read what follows `/approve`; None: words that say neither how far nor how long.

    An approval is never guessed: a typing error asks again instead of allowing too much.
    """
    words = argument.lower().split()
    everything = words[:1] == ["all"]
    rest = words[1:] if everything else words
    if not rest:
        return Verdict("once", everything)
    return (
        Verdict(_LASTING[rest[0]], everything) if len(rest) == 1 and rest[0] in _LASTING else None
    )


def deny(argument: str) -> Verdict:
    """Read what follows `/deny`; whatever it is, it is a no."""
    first, _, rest = argument.strip().partition(" ")
    if first.lower() == "all":
        return Verdict("deny", True, rest.strip())
    return Verdict("deny", False, argument.strip())
