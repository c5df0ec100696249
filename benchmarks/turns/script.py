"""What a question tells the fake model to do. The question's own text is the script, as JSON.

So no state has to be kept between the one who measures and the model, and any gateway that passes
a person's words on can be measured with it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Hang = Literal["", "before", "middle"]


class Script(msgspec.Struct, frozen=True, omit_defaults=True):
    """Answer with `deltas` pieces, `pace` seconds apart.

    `hang` falls silent for good: `before` the head of the answer, or in the `middle` of it. A
    script with a `tag` has its request followed: the model says when it stands where the script
    leads, and when its client hung up.
    """

    deltas: int = 1
    pace: float = 0.0
    hang: Hang = ""
    tag: str = ""

    def words(self) -> str:
        """The text to send."""
        return msgspec.json.encode(self).decode()


class Event(msgspec.Struct, frozen=True):
    """What the model saw of a tagged request, and when, by the clock that all processes share."""

    tag: str
    kind: Literal["open", "closed"]
    at: float


class _Said(msgspec.Struct):
    role: str = ""
    content: Any = None


class Question(msgspec.Struct):
    """As much of a request as the fake model reads."""

    messages: list[_Said] = []
    stream: bool = False

    def script(self) -> Script:
        """The last one that a person has said; a plain answer if there is none."""
        for said in reversed(self.messages):
            if said.role == "user" and isinstance(said.content, str):
                return read(said.content)
        return Script()


def read(text: str) -> Script:
    """The script inside a text, whatever a gateway has put around it."""
    try:
        return msgspec.json.decode(text[text.index("{") : text.rindex("}") + 1], type=Script)
    except (ValueError, msgspec.MsgspecError):
        return Script()
