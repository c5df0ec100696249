"""Which conversation a message belongs to: source and agent in, one stable string out.

    agent:<agent>:<platform>:dm:<chat>[:<thread>]
    agent:<agent>:<platform>:<chat type>[:<chat>][:<thread>][:<participant>]

For ids made of ordinary characters these are the strings that conversations have always had, so
old ones are found again. An id may also hold anything else: `%`, `:`, spaces, control characters
and all that is not ASCII are written as `%XX` of their UTF-8 bytes. So a part never contains the
separator, and two different lists of parts never give one key.

Limit: a key holds its parts, not their roles. A thread of a group and a private corner of the
same group share a key if the thread's id equals the user's. Platforms draw the two from different
sets; a surface that lets its clients choose ids has to use `dm`, where no participant is added.
"""

from __future__ import annotations

import re

import msgspec

from hermes_actors.values import Source

MAIN_AGENT = "main"
LONGEST_NAME = 240

_ODD = re.compile(r"[^!-$&-9;-~]")
_ESCAPED = re.compile(r"(?:[!-$&-9;-~]|%[0-9A-F]{2})*")


class Grouping(msgspec.Struct, frozen=True):
    """Who shares a conversation: in groups each person has their own, in threads all have one."""

    group_sessions_per_user: bool = True
    thread_sessions_per_user: bool = False


class KeyParts(msgspec.Struct, frozen=True):
    """What a key says. `path` holds chat, thread and participant, as far as there are any."""

    agent: str
    platform: str
    chat_type: str
    path: tuple[str, ...] = ()

    def spell(self) -> str:
        """The key; `parse` gives these parts back."""
        parts = (self.agent, self.platform, self.chat_type, *self.path)
        return ":".join(("agent", *map(_escape, parts)))


def session_key(source: Source, agent: str = MAIN_AGENT, grouping: Grouping | None = None) -> str:
    """The conversation that a message from `source` to `agent` belongs to."""
    return key_parts(source, agent, grouping).spell()


def key_parts(source: Source, agent: str, grouping: Grouping | None = None) -> KeyParts:
    """The same, not yet written as one string."""
    direct = source.chat_type == "dm"
    path = _direct(source) if direct else _shared(source, grouping or Grouping())
    return KeyParts(agent, source.platform, source.chat_type, tuple(filter(None, path)))


def parse(key: str) -> KeyParts | None:
    """Read a key back; None for what `session_key` cannot have written."""
    prefix, *parts = key.split(":")
    if prefix != "agent" or len(parts) < 3 or not all(map(_ESCAPED.fullmatch, parts)):
        return None
    try:
        agent, platform, chat_type, *path = map(_unescape, parts)
    except UnicodeDecodeError:
        return None
    read = KeyParts(agent, platform, chat_type, tuple(path))
    return read if all(path) and read.spell() == key else None


def is_shared(source: Source, grouping: Grouping | None = None) -> bool:
    """Do several people talk in this conversation? Then their words carry their names."""
    grouping = grouping or Grouping()
    if source.chat_type == "dm":
        return False
    if source.thread_id:
        return not grouping.thread_sessions_per_user
    return not grouping.group_sessions_per_user


def speaker_prefix(name: str | None) -> str:
    """What stands before the words of one person among several; on one line, whatever the name."""
    plain = " ".join((name or "someone").split())[:LONGEST_NAME].strip()
    return f"[{plain or 'someone'}] "


def _direct(source: Source) -> tuple[str | None, ...]:
    return source.chat_id or _participant(source), source.thread_id


def _shared(source: Source, grouping: Grouping) -> tuple[str | None, ...]:
    common_thread = source.thread_id and not grouping.thread_sessions_per_user
    private = grouping.group_sessions_per_user and not common_thread
    return source.chat_id, source.thread_id, _participant(source) if private else None


def _participant(source: Source) -> str | None:
    return source.user_id_alt or source.user_id


def _escape(part: str) -> str:
    return _ODD.sub(_escaped, part)


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _unescape(part: str) -> str:
    raw = re.sub(rb"%(..)", lambda match: bytes.fromhex(match[1].decode()), part.encode())
    return raw.decode("utf-8", "surrogatepass")
