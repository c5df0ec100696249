"""What the three ways of talking to a model demand of a history, as data.

All of them share most rules: every call is answered right after it, ids are unique, arguments are a
JSON object, nothing is empty that has to say something. Here is only where they differ, and each
errs on the strict side: servers that merely resemble a dialect refuse more than its inventor.
"""

from __future__ import annotations

import msgspec


class Dialect(msgspec.Struct, frozen=True):
    """`user_first`: a history begins with a person. `alternates`: never two messages of one side in
    a row. `answer_before_user`: after the results of tools the model speaks, not a person."""

    name: str
    user_first: bool
    alternates: bool
    answer_before_user: bool
    call_id: str
    longest_call_id: int
    tool_name: str = r"[a-zA-Z0-9_-]+"
    longest_tool_name: int = 64


# An id is opaque to OpenAI and must come back as it was; what is refused is what breaks a wire.
_OPAQUE = r"[!-~]+"

OPENAI_CHAT = Dialect("openai_chat", False, True, True, _OPAQUE, 40)
OPENAI_RESPONSES = Dialect("openai_responses", False, False, False, _OPAQUE, 64)
ANTHROPIC = Dialect("anthropic", True, True, False, r"[a-zA-Z0-9_-]+", 64)

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC)
}
