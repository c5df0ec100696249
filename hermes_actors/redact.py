"""Keeps secrets out of everything that is written down: logs, errors, reports.

Two kinds of knowledge. The *literal* values of every configured secret, in the spellings in which
they travel: as they are, percent-encoded, escaped for JSON or Python, line by line, and base64 in
each of its three alignments. And the *shapes* of keys that nobody configured here but that appear
all the same.

The time is linear in the text for any text. Literals are found by plain search. When there are
many, the longer ones are ruled out together first: every word of eight bytes of the text, or every
second, is looked up in one set of all eight-byte pieces, whose size costs nothing; only forms that
have a piece in common with the text are searched for. Shapes begin with fixed text and only their
last part may be endless, so there is nothing to backtrack.

Limits. A secret of fewer than six characters is hidden only where it is a whole value: cut out of
running text it would shred every line and, by the pattern of its holes, tell itself. A secret that
someone cuts in half before logging it is not recognised. A secret with stars at its ends may seem
to stand beside a mark.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

MARK = "***"
SHORTEST = 6
_MARK = MARK.encode()
_FEW = 6  # as many searches cost what one look at every word costs
_WORD = 8
_DEEPEST = 12
_SAFE_SETS = ("", "/", "!~*'()", "/:")
_TELLING_NAMES = frozenset({
    "authorization", "proxy_authorization", "cookie", "set_cookie", "x_api_key", "api_key",
    "apikey", "password", "passwd", "secret", "client_secret", "jwt_secret", "webhook_secret",
    "token", "access_token", "refresh_token", "bot_token", "app_token", "private_key",
})  # fmt: skip
# Each begins with fixed text (found at the speed of memory); what must not stand before it is
# asked only then, by looking back.
_SHAPES = tuple(
    re.compile(shape)
    for shape in (
        rb"sk-(?<![A-Za-z0-9]sk-)[A-Za-z0-9_-]{16,}",
        rb"xox(?<![A-Za-z0-9]xox)[a-z]-[A-Za-z0-9-]{10,}",
        rb"xapp-(?<![A-Za-z0-9]xapp-)[A-Za-z0-9-]{10,}",
        rb"gh[a-z]_[A-Za-z0-9]{30,}",
        rb"eyJ(?<![A-Za-z0-9]eyJ)[A-Za-z0-9_-]{8}[A-Za-z0-9_.-]{16,}",
        rb"earer[ \t](?<=[Bb]earer.)[ \t]{0,7}([A-Za-z0-9._~+/=-]{16,})",
        rb":(AA(?<=[0-9]{8}:AA)[A-Za-z0-9_-]{28,})",
        rb"://[^/@\s:]{0,64}:([^/@\s]{1,256})@",
    )
)

# What any of the shapes contains: most short texts have none of it, and one look tells.
_HINTS = re.compile(rb"sk-|xox|xapp-|gh[a-z]_|eyJ|earer|:AA|://")
_SHORT = 512

Span = tuple[int, int]


class Redactor:
    """Replaces secrets by `***`. Teach it every secret before the first line is written.

    >>> Redactor(["hunter2-hunter2"]).text("password=hunter2-hunter2!")
    'password=***!'
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._whole: set[str] = set()
        self._longest = 0
        self._plain: frozenset[bytes] = frozenset()
        self._stride = 2
        self._words: frozenset[int] = frozenset()
        self._pieces: dict[int, set[bytes]] = {}
        self.learn(*secrets)

    def learn(self, *secrets: str) -> None:
        """Know these too from now on: for keys that are made or handed in while running."""
        self._whole.update(filter(None, secrets))
        self._longest = max(map(len, self._whole), default=0)
        forms = frozenset(form for secret in self._whole for form in _spellings(secret))
        self._stride = 2 if sum(len(form) < _covered(2) for form in forms) <= _FEW else 1
        self._index(forms if len(forms) > _FEW else ())
        self._plain = forms.difference(*self._pieces.values())

    def _index(self, forms: Iterable[bytes]) -> None:
        self._pieces = {}
        for form in (each for each in forms if len(each) >= _covered(self._stride)):
            # Its end is enough to find it by, and unlike its beginning ("sk-proj-…") is its own.
            for at in range(len(form) - _covered(self._stride), len(form) - _WORD + 1):
                word = int.from_bytes(form[at : at + _WORD], sys.byteorder)
                self._pieces.setdefault(word, set()).add(form)
        self._words = frozenset(self._pieces)

    def text(self, text: str) -> str:
        """The text without any secret that is known or looks like one."""
        if len(text) <= self._longest and text in self._whole:
            return MARK
        if len(text) < SHORTEST:
            return text
        data = text.encode("utf-8", "surrogatepass")
        spans = sorted(self._spans(data))
        return _without(data, spans).decode("utf-8", "surrogatepass") if spans else text

    def value(self, value: object, depth: int = _DEEPEST) -> Any:
        """The same for nested values. What comes back is plain: dict, list, text, numbers, None."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int):
            return MARK if str(value) in self._whole else value
        if depth == 0:
            return "…"
        if isinstance(value, dict):
            names = {described(key): each for key, each in value.items()}
            return {self.text(name): self._named(name, each, depth) for name, each in names.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(each, depth - 1) for each in value]
        return self.text(described(value))

    def exception(self, error: BaseException) -> str:
        """The traceback of an exception as text, with its causes and its members."""
        return self.text("".join(traceback.format_exception(error)).rstrip())

    def _named(self, name: str, value: object, depth: int) -> Any:
        telling = name.lower().replace("-", "_") in _TELLING_NAMES
        return MARK if telling and isinstance(value, str | bytes) else self.value(value, depth - 1)

    def _spans(self, data: bytes) -> Iterator[Span]:
        for form in (*self._plain, *self._present(data)):
            at = data.find(form)
            while at >= 0:
                yield at, at + len(form)
                at = data.find(form, at + len(form))
        if len(data) <= _SHORT and _HINTS.search(data) is None:
            return
        for shape in _SHAPES:
            for match in shape.finditer(data):
                yield match.span(match.lastindex or 0)

    def _present(self, data: bytes) -> set[bytes]:
        """Indexed forms of which at least one word is in the text, at every stride of it."""
        if not self._words:
            return set()
        words = memoryview(data)[: len(data) // _WORD * _WORD].cast("Q")[:: self._stride]
        hits = self._words.intersection(words)
        return {form for word in hits for form in self._pieces[word]}


def _covered(stride: int) -> int:
    """The length from which a form holds a whole word at this stride, wherever it stands."""
    return (stride + 1) * _WORD - 1


def described(value: object) -> str:
    """Text or bytes as they are, anything else as its `repr`. A broken `repr` is told of."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "backslashreplace")
    try:
        return repr(value)
    except Exception as failure:  # noqa: BLE001  border to foreign code: reported in its place
        return f"<{type(value).__name__} whose repr raised {type(failure).__name__}>"


def _without(data: bytes, spans: list[Span]) -> bytes:
    kept, end = list[bytes](), 0
    for start, stop in spans:
        if start >= end:
            kept += (data[end:start], _MARK)
        end = max(end, stop)
    return b"".join((*kept, data[end:]))


def _spellings(secret: str) -> Iterator[bytes]:
    """The ways in which a secret is written; none for one that is too short to cut out."""
    if len(secret) < SHORTEST:
        return
    for line in secret.splitlines():  # of a key in many lines: tracebacks indent each of them
        if line != secret:
            yield from _spellings(line.strip())
    raw = secret.encode("utf-8", "surrogatepass")
    texts = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    texts |= {repr(secret)[1:-1], repr(raw)[2:-1], secret.replace("/", "\\/"), quote_plus(raw)}
    texts |= {quote(raw, safe=safe) for safe in _SAFE_SETS}
    texts |= {_lower_hex(text) for text in texts}
    yield raw
    yield from (text.encode("utf-8", "surrogatepass") for text in texts)
    yield from _base64_forms(raw)


def _lower_hex(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), text)


def _base64_forms(raw: bytes) -> Iterator[bytes]:
    """What base64 makes of these bytes wherever they stand, without the characters at either
    end that depend on the neighbours."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + raw).rstrip(b"=")
        loose_end = 0 if (before + len(raw)) % 3 == 0 else 1
        stable = encoded[(0, 2, 3)[before] : len(encoded) - loose_end]
        yield stable
        yield stable.translate(bytes.maketrans(b"+/", b"-_"))
    yield base64.b64encode(raw)
