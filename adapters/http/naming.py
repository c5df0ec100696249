"""Which conversation a request belongs to: headers in, a source and the name to echo out.

A request that names no conversation belongs to the one whose words so far are exactly those it
brings, if the last answer there was given to the same words; otherwise a new one begins with them.
Two people who open with the same "hello" therefore never meet in one conversation, and a client
that goes back to an earlier question gets what it asks for.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import msgspec

from adapters.http.answers import Complaint
from adapters.http.asking import Asked
from hermes_actors.values import AssistantMessage, Message, Source, UserMessage

PLATFORM = "api_server"
LONGEST = 256
SESSION_ID, SESSION_KEY = "X-Hermes-Session-Id", "X-Hermes-Session-Key"
CHAT_ID, USER_ID, THREAD_ID = "X-Hermes-Chat-Id", "X-Hermes-User-Id", "X-Hermes-Thread-Id"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_REMEMBERED = 10_000


class Names(msgspec.Struct, frozen=True):
    """The names that a request gives; None where it gives none."""

    session: str | None = None
    scope: str | None = None
    chat: str | None = None
    user: str | None = None
    thread: str | None = None

    @property
    def conversation(self) -> bool:
        """Whether they name a conversation, and not only who speaks."""
        return bool(self.session or self.chat)


def names_in(headers: Mapping[str, str]) -> Names:
    """The names in the headers; a `Complaint` for one that is too long or not plain text."""
    order = (SESSION_ID, SESSION_KEY, CHAT_ID, USER_ID, THREAD_ID)
    names = Names(*(_name(headers, each) for each in order))
    if names.session and names.chat and names.thread:
        raise Complaint(
            400,
            "invalid_header",
            f"{SESSION_ID} and {THREAD_ID} both name a conversation in the chat: send one of them",
            param=SESSION_ID,
        )
    return names


def source_of(names: Names, session: str) -> Source:
    """Where a message of this conversation comes from, for routes and for its key."""
    in_chat = names.chat is not None and names.session is not None
    return Source(
        platform=PLATFORM,
        chat_id=names.chat or session,
        user_id=names.user,
        thread_id=session if in_chat else names.thread,
    )


def derived(asked: Asked, mark: str | None = None) -> str:
    """A name for a new conversation, from its opening; `mark` tells apart those that open alike."""
    opening = f"{asked.system}\n{asked.opening}".encode("utf-8", "surrogatepass")
    return f"api-{hashlib.sha256(opening).hexdigest()[:16]}-{mark or secrets.token_hex(4)}"


class Conversations:
    """Remembers, for the latest conversations without a name, what was said in them.

    What it has forgotten costs nothing but a copy of the words that the client brings.
    """

    def __init__(self) -> None:
        self._by_words: OrderedDict[bytes, str] = OrderedDict()

    def take(self, asked: Asked, names: Names) -> str | None:
        """The conversation that stands exactly here. It moves on, so it is given only once."""
        return self._by_words.pop(_print(asked, names, asked.earlier), None)

    def keep(self, asked: Asked, names: Names, answer: str, session: str) -> None:
        """This conversation has been answered so."""
        said = (*asked.earlier, UserMessage(asked.text), AssistantMessage(answer))
        self._by_words[_print(asked, names, said)] = session
        while len(self._by_words) > _REMEMBERED:
            self._by_words.popitem(last=False)


def _print(asked: Asked, names: Names, said: Iterable[Message]) -> bytes:
    """Who says what to whom; it does not matter how a client trims what it was told."""
    words = [asked.model, *(each or "" for each in msgspec.structs.astuple(names))]
    words.append(" ".join(asked.system.split()))
    for message in said:
        words += type(message).__name__, " ".join(message.text.split())
    return hashlib.sha256(msgspec.json.encode(words)).digest()


def _name(headers: Mapping[str, str], header: str) -> str | None:
    given = headers.get(header)
    if given is None or not given.strip():
        return None
    if len(given) > LONGEST or _CONTROL.search(given):
        raise Complaint(
            400,
            "invalid_header",
            f"{header}: at most {LONGEST} characters, and no control characters",
            param=header,
        )
    return given.strip()
