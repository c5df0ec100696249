"""Takes questions in: finds the conversation, brings its history, hands the message over."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec

from adapters.http.answers import Complaint
from adapters.http.asking import Asked
from adapters.http.following import Following
from adapters.http.naming import PLATFORM, Conversations, Names, derived, names_in, source_of
from hermes_actors.actors.lines import line_of
from hermes_actors.actors.router import Answered, Ignored, Kept
from hermes_actors.actors.services import Services
from hermes_actors.store import bindings, inbox, messages, sessions
from hermes_actors.store.messages import NewMessage
from hermes_actors.store.operation import writes
from hermes_actors.store.sessions import NewSession
from hermes_actors.store.sql import Sql
from hermes_actors.values import Inbound, Source, UserMessage

IDEMPOTENCY_KEY = "Idempotency-Key"
_KEY = re.compile(r"[!-~]{1,255}")


class Taken(msgspec.Struct, frozen=True):
    """A question that was taken: what to follow, or words that answer it at once."""

    session: str
    names: Names
    key: str
    following: Following | None
    words: str = ""


class Desk:
    """Where questions are handed in. At most `places` of them are open at once; 0: any number."""

    def __init__(self, services: Services, places: int) -> None:
        self._services, self._places, self._open = services, places, 0
        self._conversations = Conversations()

    def now(self) -> int:
        """The time of day, for those who stamp answers."""
        return int(self._services.house.now())

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place for one open question; counted before anything is waited for."""
        if self._places and self._open >= self._places:
            raise Complaint(
                429,
                "rate_limit_exceeded",
                f"{self._open} requests are being answered; see max_concurrent_runs",
                retry_after=1,
            )
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    async def take(
        self, asked: Asked, body: bytes, headers: Mapping[str, str], request_id: str
    ) -> Taken:
        """Hand a question in. When this returns, it is kept and will be answered."""
        names, chosen = names_in(headers), _chosen_key(headers)
        digest = _digest(body, names)
        if chosen is not None and (known := await self._known(chosen, digest)) is not None:
            return self._again(known, names)
        names = await self._resolved(names)
        session, source = self._conversation(asked, names, chosen)
        inbound = Inbound(
            source=source,
            key=chosen or f"{PLATFORM}:{request_id}",
            text=asked.text,
            digest=digest if chosen else None,
            agent=asked.model if asked.model in self._services.agents else None,
        )
        if asked.earlier or asked.system:
            await self._bring(asked, inbound)
        return await self._hand_in(inbound, session, names)

    def remember(self, asked: Asked, answer: str, taken: Taken) -> None:
        """A conversation without a name has come this far; named ones need no such memory."""
        if not taken.names.conversation:
            self._conversations.keep(asked, taken.names, answer, taken.session)

    async def _hand_in(self, inbound: Inbound, session: str, names: Names) -> Taken:
        receipt = await self._services.router.receive(inbound)
        match receipt:
            case Answered(_, words):
                return Taken(session, names, inbound.key, None, words)
            case Ignored(reason):
                raise Complaint(403, "refused_by_policy", f"This was not accepted: {reason}")
            case Kept(session_key, again=again):
                following = Following(self._services, session_key, key=inbound.key, known=again)
                return Taken(session, names, inbound.key, following)

    # The same key again --------------------------------------------------------------------------

    async def _known(self, key: str, digest: str) -> inbox.InboxMessage | None:
        known = await self._services.house.store.read(inbox.find(key))
        if known is not None and known.digest != digest:
            raise Complaint(
                409,
                "idempotency_conflict",
                "This key was used for another request: use a new key, or repeat that request.",
                param=IDEMPOTENCY_KEY,
            )
        return known

    def _again(self, known: inbox.InboxMessage, names: Names) -> Taken:
        following = Following(self._services, known.session_key, key=known.key, known=True)
        source = msgspec.json.decode(known.payload, type=Inbound).source
        return Taken(_echo(source, names), names, known.key, following)

    # The conversation ----------------------------------------------------------------------------

    async def _resolved(self, names: Names) -> Names:
        """A conversation may also be named by the id under which it is listed."""
        if names.session is None or names.chat is not None:
            return names
        stored = await self._services.house.store.read(sessions.find(names.session))
        if stored is None:
            return names
        if stored.platform != PLATFORM:
            raise Complaint(
                409,
                "session_elsewhere",
                f"This conversation is held on {stored.platform}; go on there.",
                param="X-Hermes-Session-Id",
            )
        source = msgspec.json.decode(stored.source, type=Source)
        return msgspec.structs.replace(
            names, session=source.chat_id, thread=source.thread_id or names.thread
        )

    def _conversation(self, asked: Asked, names: Names, chosen: str | None) -> tuple[str, Source]:
        if names.conversation:
            source = source_of(names, names.session or "")
            return _echo(source, names), source
        mark = None if chosen is None else hashlib.sha256(chosen.encode()).hexdigest()[:8]
        session = self._conversations.take(asked, names) or derived(asked, mark)
        return session, source_of(names, session)

    async def _bring(self, asked: Asked, inbound: Inbound) -> None:
        """A conversation that is new here begins with what the client remembers of it."""
        house = self._services.house
        address = await self._services.router.address(inbound)
        new = NewSession(
            id=house.new_id("session"),
            session_key=address.session_key,
            agent_id=address.agent_id,
            platform=PLATFORM,
            source=msgspec.json.encode(inbound.source).decode(),
        )
        if await house.store.read(bindings.find(address.session_key)) is None:
            await house.store.write(_begin_with(new, _lines(asked), now=house.now()))


@writes
def _begin_with(sql: Sql, new: NewSession, lines: list[NewMessage], *, now: float) -> None:
    if bindings.find.within(sql, new.session_key) is None:
        bindings.open_session.within(sql, new, now=now)
        messages.append.within(sql, new.id, lines, now=now)


def _lines(asked: Asked) -> list[NewMessage]:
    told = (
        [UserMessage(f"[Instructions of the application]\n{asked.system}")] if asked.system else []
    )
    return [line_of(message) for message in (*told, *asked.earlier)]


def _echo(source: Source, names: Names) -> str:
    return names.session or source.chat_id


def _chosen_key(headers: Mapping[str, str]) -> str | None:
    given = headers.get(IDEMPOTENCY_KEY)
    if given is None:
        return None
    if not _KEY.fullmatch(given):
        raise Complaint(
            400,
            "invalid_header",
            f"{IDEMPOTENCY_KEY}: 1 to 255 visible ASCII characters",
            param=IDEMPOTENCY_KEY,
        )
    return f"{PLATFORM}:given:{given}"


def _digest(body: bytes, names: Names) -> str:
    """Of everything that makes it this request and no other."""
    return hashlib.sha256(msgspec.json.encode(names) + b"\n" + body).hexdigest()
