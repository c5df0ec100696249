"""A secret is found where the file says, and gets out by no accident."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import traceback
from pathlib import Path

import msgspec
import pytest

from hermes_actors.config import Config, Secret, SecretUrl, revealed
from hermes_actors.config.secrets import SecretMissing, exposed, look_up, open_to_others

CANARY = "canary-7f3a9c-x/+="
NOWHERE = Path("/nowhere")


def test_a_secret_comes_from_the_environment_a_file_or_the_text_itself(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{CANARY}\n")
    found = [
        look_up("env:KEY", {"KEY": f" {CANARY}\r\n"}, NOWHERE),
        look_up("file:key", {}, tmp_path),
        look_up(f"file:{tmp_path}/key", {}, NOWHERE),
        look_up(CANARY, {}, NOWHERE),
    ]
    assert [each.reveal() for each in found] == [CANARY] * 4
    assert [each.origin for each in found] == [
        "env:KEY",
        "file:key",
        f"file:{tmp_path}/key",
        "literal",
    ]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("env:GONE", "the environment variable GONE is not set; export it, then retry"),
        ("env:EMPTY", "the environment variable EMPTY is empty; give it a value"),
        ("env:", "'env:' names nothing; write 'env:NAME'"),
        ("file:", "'file:' names nothing; write 'file:PATH'"),
        ("", "the value is empty; write a value, or 'env:NAME'"),
        ("   ", "the value is empty; write a value, or 'env:NAME'"),
        ("file:gone", "the file {folder}/gone cannot be read: no such file or directory"),
        ("file:.", "the file {folder} cannot be read: is a directory"),
        ("file:empty", "the file {folder}/empty is empty; write the secret into it"),
        ("file:binary", "the file {folder}/binary is not UTF-8 text"),
        (
            "file:huge",
            "the file {folder}/huge is no secret: it is too long or holds a NUL;"
            " write the secret into it",
        ),
        ("file:a\0b", "the file {folder}/a\0b cannot be read: it is not a usable path"),
        ("file:" + "x" * 300, "the file {folder}/{long} cannot be read: file name too long"),
    ],
)
def test_a_secret_that_cannot_be_had_is_told_with_a_remedy(
    tmp_path: Path, written: str, reason: str
) -> None:
    (tmp_path / "empty").write_text(" \n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "huge").write_text("x" * 100_000)
    with pytest.raises(SecretMissing) as caught:
        look_up(written, {"EMPTY": " "}, tmp_path)
    assert str(caught.value) == reason.format(folder=tmp_path, long="x" * 300)


def test_a_secret_in_place_of_a_variables_name_is_not_repeated() -> None:
    with pytest.raises(SecretMissing) as caught:
        look_up(f"env:{CANARY}", {}, NOWHERE)
    assert str(caught.value) == "'env:' wants the name of an environment variable after it"


@pytest.mark.parametrize("kind", [Secret, SecretUrl])
def test_no_way_of_printing_shows_the_value(kind: type[Secret]) -> None:
    secret = kind(CANARY, "env:KEY")
    logged = logging.LogRecord("x", 20, "x", 1, "%s %r", (secret, secret), None).getMessage()
    shown = [str(secret), repr(secret), f"{secret}", f"{secret:>9}", f"{secret!r}", f"{[secret]}"]
    assert [*shown, logged] == [
        "***",
        f"{kind.__name__}(env:KEY)",
        "***",
        "      ***",
        f"{kind.__name__}(env:KEY)",
        f"[{kind.__name__}(env:KEY)]",
        f"*** {kind.__name__}(env:KEY)",
    ]


def test_no_encoder_writes_it_out() -> None:
    secret = Secret(CANARY)
    for encode in (json.dumps, msgspec.json.encode, msgspec.msgpack.encode, msgspec.to_builtins):
        with pytest.raises(TypeError) as caught:
            encode({"key": secret})
        assert CANARY not in "".join(traceback.format_exception(caught.value))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="is not written out; pass on its origin"):
            pickle.dumps(secret, protocol)
    with pytest.raises(TypeError):
        msgspec.json.encode(Config())


def test_a_copy_is_the_secret_itself() -> None:
    secret = Secret(CANARY)
    assert copy.copy(secret) is secret
    assert copy.deepcopy({"a": [secret]})["a"][0] is secret


def test_secrets_are_equal_when_value_and_origin_are() -> None:
    assert Secret("a", "env:A") == Secret("a", "env:A")
    assert Secret("a", "env:A") != Secret("a", "env:B")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2


def test_a_secret_that_was_not_found_says_so_when_it_is_wanted() -> None:
    missing = Secret(None, "env:KEY")
    assert not missing.found
    assert [*missing.hidden()] == []
    with pytest.raises(SecretMissing, match="the secret 'env:KEY' was not found"):
        missing.reveal()


def test_text_and_secrets_are_revealed_alike() -> None:
    assert [revealed("plain"), revealed(Secret(CANARY))] == ["plain", CANARY]


@pytest.mark.parametrize(
    ("url", "shown", "hidden"),
    [
        ("sqlite:///hermes.db", "sqlite:///hermes.db", set()),
        ("postgresql://host/db", "postgresql://host/db", set()),
        ("postgresql://me@host:5432/db", "postgresql://me@host:5432/db", set()),
        ("postgresql://me:pw@host:5432/db", "postgresql://me:***@host:5432/db", {"pw"}),
        ("postgresql://me:o@host/db", "postgresql://me:***@host/db", {"o"}),
        ("postgresql://me:a%2Fb@host/db", "postgresql://me:***@host/db", {"a%2Fb", "a/b"}),
        ("postgresql://me:a/b@host/db", "postgresql://me:***@host/db", {"a/b"}),
        ("postgresql://me:a@b@host/db", "postgresql://me:***@host/db", {"a@b"}),
        (
            "postgresql://h/d?user=me&password=pw&sslpassword=qx#f",
            "postgresql://h/d?user=me&password=***&sslpassword=***#f",
            {"pw", "qx"},
        ),
        ("host=h password=pw", "***", {"host=h password=pw"}),
        ("postgresql://me: pw@host", "***", {"postgresql://me: pw@host"}),
    ],
)
def test_of_an_address_only_the_password_is_hidden(url: str, shown: str, hidden: set[str]) -> None:
    assert str(SecretUrl(url)) == shown
    assert {*SecretUrl(url).hidden()} == hidden


def test_an_address_from_elsewhere_is_hidden_as_a_whole() -> None:
    assert str(SecretUrl("postgresql://host/db", "env:URL")) == "***"
    assert str(SecretUrl(None, "env:URL")) == "***"


@pytest.mark.parametrize(
    ("mode", "is_open"),
    [(0o600, False), (0o400, False), (0o700, False), (0o640, True), (0o604, True), (0o620, True)],
)
def test_a_file_is_open_when_group_or_world_may_read_or_write_it(
    tmp_path: Path, mode: int, is_open: bool
) -> None:
    file = tmp_path / "key"
    file.write_text(CANARY)
    file.chmod(mode)
    assert open_to_others(file) == is_open
    assert exposed(Secret(CANARY, "file:key"), tmp_path) == (str(file) if is_open else None)


def test_what_is_not_in_a_file_is_not_exposed_by_one(tmp_path: Path) -> None:
    assert exposed(Secret(CANARY, "env:KEY"), tmp_path) is None
    assert exposed(Secret(CANARY, "file:gone"), tmp_path) is None
