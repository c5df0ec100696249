"""No secret is in any text that is written down, in whatever spelling it came."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import string
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_actors import redact
from hermes_actors.redact import _SHAPES, MARK, SHORTEST, Redactor, described

SECRET = 'p@ss/w0rd+"ü"'

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "percent": lambda secret: quote(secret, safe=""),
    "percent, path": quote,
    "percent, lower": lambda secret: re.sub("%..", lambda m: m[0].lower(), quote(secret, safe="")),
    "form": quote_plus,
    "JSON": lambda secret: json.dumps(secret)[1:-1],
    "JSON, plain": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "JSON, slashes": lambda secret: secret.replace("/", "\\/"),
    "repr": lambda secret: repr(secret)[1:-1],
    "bytes": lambda secret: repr(secret.encode())[2:-1],
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64, web": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
}

# A star at an end could join the mark beside it and so seem to be there still.
secrets = st.text(
    st.characters(exclude_characters="*", exclude_categories=["Cs"]), min_size=SHORTEST, max_size=60
).filter(lambda each: each == each.strip() and len(each) >= SHORTEST)


def canaries() -> list[str]:
    """Fifty secrets of many lengths, each with characters that some spelling changes."""
    return [f"canary/{n:02}+{'xyz&= ü' * (n % 9)}!" for n in range(50)]


@pytest.mark.parametrize("spelling", SPELLINGS)
@given(secret=secrets, before=st.text(max_size=40), after=st.text(max_size=40))
@example(secret=SECRET, before="", after="")
def test_a_secret_is_hidden_in_every_spelling_and_any_text(
    spelling: str, secret: str, before: str, after: str
) -> None:
    form = SPELLINGS[spelling](secret)
    shown = Redactor([secret]).text(before + form + after)
    assert form not in shown
    assert secret not in shown
    assert MARK in shown


@given(secret=secrets, before=st.binary(max_size=9), after=st.binary(max_size=9))
def test_a_secret_inside_something_that_became_base64_leaves_no_whole_group_of_itself(
    secret: str, before: bytes, after: bytes
) -> None:
    raw = secret.encode()
    text = base64.b64encode(before + raw + after).decode()
    shown = Redactor([secret]).text(text)
    first = -(-len(before) // 3)
    inner = text[first * 4 : (len(before) + len(raw)) // 3 * 4]
    assert inner
    assert inner not in shown


@given(st.lists(secrets, min_size=1, max_size=40), st.data())
def test_many_secrets_are_hidden_as_well_as_one(known: list[str], data: st.DataObject) -> None:
    secret = data.draw(st.sampled_from(known))
    padding = data.draw(st.integers(0, 40))
    assert secret not in Redactor(known).text("." * padding + secret + "." * padding)


@given(st.text(string.ascii_lowercase + " .,;\n", max_size=300), st.lists(secrets, max_size=8))
def test_text_without_secrets_comes_back_as_it_was(text: str, known: list[str]) -> None:
    known = [each for each in known if each.strip(string.ascii_lowercase + " .,;\n")]
    for line in (line for each in known for line in each.splitlines()):
        if line.strip() in text:
            return
    assert Redactor(known).text(text) == text


@given(st.text(st.characters(), max_size=50))
def test_even_broken_text_comes_back(text: str) -> None:
    assert Redactor(["x" * 30]).text(text) == text


@pytest.mark.parametrize("offset", range(40))
@pytest.mark.parametrize("length", [14, 15, 22, 23, 24, 64])
def test_the_search_by_words_misses_no_place_and_no_length(offset: int, length: int) -> None:
    many = [f"{n:03}".ljust(length, "abcdefghij"[n % 10]) for n in range(50)]
    redactor = Redactor(many)
    for secret in (many[0], many[49]):
        assert redactor.text("-" * offset + secret + "-") == "-" * offset + MARK + "-"


def test_overlapping_secrets_leave_nothing_between_them() -> None:
    redactor = Redactor(["abcdefgh", "efghijkl", "cdefgh"])
    assert redactor.text("<abcdefghijkl>") == "<***>"
    assert redactor.text("<abcdefgh><efghijkl>") == "<***><***>"


def test_a_short_secret_is_hidden_only_where_it_is_the_whole_value() -> None:
    redactor = Redactor(["abc", "12345", ""])
    assert redactor.value({"a": "abc", "b": "abcd", "c": 12345, "d": ""}) == {
        "a": MARK,
        "b": "abcd",
        "c": MARK,
        "d": "",
    }


def test_a_secret_learned_later_is_hidden_from_then_on() -> None:
    redactor = Redactor()
    assert redactor.text("late-secret") == "late-secret"
    redactor.learn("late-secret", "another-one")
    assert redactor.text("late-secret another-one") == "*** ***"


def test_a_key_in_many_lines_is_hidden_line_by_line() -> None:
    key = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA\nq83vEjRWeJq83vEj\n-----END KEY-----"
    indented = "\n".join(f"  | {line}" for line in key.splitlines())
    shown = Redactor([key]).text(indented)
    assert shown == "  | ***\n  | ***\n  | ***\n  | ***"
    assert Redactor([key]).text(json.dumps({"k": key})) == '{"k": "***"}'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key=sk-abcdefghijklmnop0123", "key=***"),
        ("xoxb-1234567890-abc", "***"),
        ("xapp-1-A123456789", "***"),
        ("ghp_" + "a1" * 18, "***"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefgh", "***"),
        ("Authorization: Bearer abcdefghijklmnop.q", "Authorization: Bearer ***"),
        ("bearer   abcdefghijklmnop", "bearer   ***"),
        ("bot123456789:AAabcdefghijklmnopqrstuvwxyz_-0123", "bot123456789:***"),
        ("postgresql://me:hunter2@host/db", "postgresql://me:***@host/db"),
        ("https://:pw@host", "https://:***@host"),
    ],
)
def test_keys_that_nobody_configured_are_known_by_their_shape(text: str, shown: str) -> None:
    assert Redactor().text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "ask-me-anything-about-everything",
        "sk-short",
        "https://host:8642/a/b@c",
        "a task-oriented-description-of-things",
        "the bearer of news",
        "12:34:56 2030-01-01T00:00:00.000000Z",
        "sha256:0123456789abcdef0123456789abcdef",
        "agent:main:telegram:group:-100123456789:42",
    ],
)
def test_ordinary_text_has_none_of_these_shapes(text: str) -> None:
    assert Redactor().text(text) == text


class Opaque:
    def __repr__(self) -> str:
        return f"Opaque({SECRET})"


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError(SECRET)


class Row(msgspec.Struct):
    note: str


def test_nested_values_come_back_plain_and_without_secrets() -> None:
    value = {
        SECRET: 1,
        b"raw": SECRET.encode(),
        3: [SECRET, (SECRET,), {SECRET}, frozenset({SECRET})],
        "row": Row(f"a {SECRET} b"),
        "opaque": Opaque(),
        "broken": Broken(),
        "numbers": [1, 2.5, True, None],
    }
    assert Redactor([SECRET]).value(value) == {
        "***": 1,
        "raw": "***",
        "3": ["***", ["***"], ["***"], ["***"]],
        "row": "Row(note='a *** b')",
        "opaque": "Opaque(***)",
        "broken": "<Broken whose repr raised RuntimeError>",
        "numbers": [1, 2.5, True, None],
    }


@pytest.mark.parametrize("name", ["Authorization", "x-api-key", "Set-Cookie", "password", "TOKEN"])
def test_a_value_under_a_telling_name_is_hidden_whatever_it_is(name: str) -> None:
    assert Redactor().value({name: "abc", "other": "abc"}) == {name: MARK, "other": "abc"}
    assert Redactor().value({name: b"abc"}) == {name: MARK}
    assert Redactor().value({name: ["abc"]}) == {name: ["abc"]}


def test_a_value_that_holds_itself_comes_to_an_end() -> None:
    endless: list[Any] = []
    endless.append(endless)
    shown = Redactor().value(endless)
    assert str(shown) == "[" * 12 + "'…'" + "]" * 12


def test_bytes_that_are_not_text_are_described() -> None:
    assert described(b"a\xff") == "a\\xff"
    assert described(bytearray(b"abc")) == "abc"


def fail(words: str) -> None:
    raise ValueError(words)


def grouped() -> BaseException:
    """A group with a cause, a context, a note and a member, each of which tells the secret."""
    members: list[Exception] = []
    try:
        try:
            fail(f"first {SECRET}")
        except ValueError as first:
            raise KeyError(SECRET) from first
    except KeyError as second:
        second.add_note(f"note {SECRET}")
        members.append(second)
    try:
        try:
            fail(f"context {SECRET}")
        except ValueError:
            fail(f"during {SECRET}")
    except ValueError as third:
        members.append(third)
    return ExceptionGroup(f"group {SECRET}", members)


def test_a_traceback_keeps_its_story_and_loses_its_secrets() -> None:
    shown = Redactor([SECRET]).exception(grouped())
    for form in SPELLINGS.values():
        assert form(SECRET) not in shown
    for words in ("group ***", "first ***", "KeyError: '***'", "note ***", "context ***", "during"):
        assert words in shown
    assert "direct cause" in shown
    assert not shown.endswith("\n")


def sinks(redactor: Redactor, secret: str) -> Iterator[str]:
    """Every way in which a text can pass the redactor."""
    for form in SPELLINGS.values():
        yield redactor.text(f"a {form(secret)} b")
        yield json.dumps(redactor.value({"x": [form(secret)], form(secret): 1}))
    yield json.dumps(redactor.value({"row": Row(secret), "raw": secret.encode()}))
    error = RuntimeError(secret)
    error.__cause__ = ExceptionGroup(secret, [OSError(5, secret)])
    yield redactor.exception(error)


def test_fifty_canaries_come_out_of_no_sink() -> None:
    redactor = Redactor(canaries())
    shown = [text for secret in canaries() for text in sinks(redactor, secret)]
    assert len(shown) == 50 * (2 * len(SPELLINGS) + 2)
    everything = "\n".join(shown)
    for secret in canaries():
        for form in SPELLINGS.values():
            assert form(secret) not in everything


class Counted(bytes):
    """Bytes that count how often they are searched."""

    searches = 0

    def find(self, *wanted: Any) -> int:
        Counted.searches += 1
        return super().find(*wanted)


def searches(redactor: Redactor, text: bytes) -> int:
    Counted.searches = 0
    for _ in redactor._spans(Counted(text)):
        pass
    return Counted.searches


def test_a_thousand_secrets_cost_no_more_searches_than_a_few() -> None:
    known = [hashlib.sha256(b"%d" % n).hexdigest() for n in range(1000)]
    redactor = Redactor(known)
    assert searches(redactor, b"nothing to see " * 10_000) == 0
    assert searches(redactor, f"nothing to see {known[7]}".encode()) == 2


def test_twice_the_text_costs_no_more_searches() -> None:
    redactor = Redactor(["one secret", "two secrets"])
    once = searches(redactor, b"nothing to see " * 1000)
    assert searches(redactor, b"nothing to see " * 2000) == once > 0


def repeats(parsed: Any) -> Iterator[tuple[bool, bool]]:
    """For each repetition in a pattern: whether it is endless, and whether it comes last."""
    for place, (operation, detail) in enumerate(parsed):
        last = place == len(parsed) - 1
        name = str(operation)
        if name == "SUBPATTERN":
            yield from ((endless, last and inner) for endless, inner in repeats(detail[3]))
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            endless = str(detail[1]) == "MAXREPEAT"
            assert all(str(inner) == "IN" for inner, _ in detail[2]), "a repeat of a repeat"
            yield endless, last


@pytest.mark.parametrize("shape", _SHAPES, ids=lambda shape: shape.pattern.decode())
def test_the_shape_begins_with_fixed_text_and_only_its_end_may_be_endless(
    shape: re.Pattern[bytes],
) -> None:
    # This is what makes the time linear: nothing is tried where the fixed text is not, and an
    # endless repeat at the very end never has to give anything back.
    parsed = re._parser.parse(shape.pattern)  # type: ignore[attr-defined]
    assert str(parsed[0][0]) == "LITERAL"
    for endless, last in repeats(parsed):
        assert last or not endless


def test_every_shape_is_hinted_at_by_its_own_beginning() -> None:
    for shape in redact._SHAPES:
        fixed = shape.pattern.partition(b"(")[0].partition(b"[")[0]
        hint = shape.pattern[: shape.pattern.index(b"_")] + b"_" if fixed == b"gh" else fixed
        sample = {b":": b":AA", b"gh[a-z]_": b"ghp_"}.get(hint, hint)
        assert redact._HINTS.search(sample), shape.pattern
