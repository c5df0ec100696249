"""hermes.toml.example tells the truth: every key once, in a sentence, with its real default."""

from __future__ import annotations

import json
import re
import tomllib
import typing
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo

from hermes_actors.config import Config, Document, Judgement, judge
from hermes_actors.config.keys import all_keys, core_of, fields_of, table_kind
from hermes_actors.config.table import Table
from hermes_actors.config.values import Span, marker, spell

EXAMPLE = Path(__file__).parent.parent / "hermes.toml.example"
TEXT = EXAMPLE.read_text(encoding="utf-8")
SETTING = re.compile(r"#(?=\[|[a-z_.]+ = )")
KEYS = dict(all_keys(Config))


class Shown(NamedTuple):
    """One key of the example: its place in the file, its place in the schema, and its value."""

    place: str
    key: str
    field: FieldInfo
    value: Any


def enabled(text: str) -> str:
    """The example with every setting in force."""
    return "\n".join(SETTING.sub("", line, count=1) for line in text.splitlines())


def judged(text: str) -> Judgement:
    names = re.findall(r'"env:(\w+)"', text)
    environ = {name: f"a-good-secret-for-{name}-0123456789" for name in names}
    return judge(Document(None, Path("/home"), tomllib.loads(text), environ))


def walk(raw: dict[str, Any], table: Table, place: str = "", key: str = "") -> Iterator[Shown]:
    """Every value of the tables beside the field of the schema that has read it."""
    for name, written in raw.items():
        field, read = fields_of(type(table))[name], getattr(table, name)
        there, here = f"{place}.{name}".lstrip("."), f"{key}.{name}".lstrip(".")
        if isinstance(read, Table):
            yield from walk(written, read, there, here)
        elif isinstance(read, tuple) and read and isinstance(read[0], Table):
            for each, inner in zip(written, read, strict=True):
                yield from walk(each, inner, there, f"{here}[]")
        elif isinstance(read, dict) and _named_tables(field):
            for each, inner in read.items():
                yield from walk(written[each], inner, f"{there}.{each}", f"{here}.<name>")
        else:
            yield Shown(there, here, field, read)


def _named_tables(field: FieldInfo) -> bool:
    return table_kind(getattr(field.type, "__args__", (None, None))[1]) is not None


def sentences() -> dict[str, str]:
    """The remark above each setting, by the setting's place in the file.

    A remark above the header of a table speaks for the settings below it that have none.
    """
    found, table, remark, general = dict[str, str](), "", list[str](), ""
    for line in TEXT.splitlines():
        bare = SETTING.sub("", line, count=1)
        if bare.startswith("#"):
            remark.append(bare[1:].strip())
            continue
        if bare.startswith("["):
            table, general = bare.strip("[]"), " ".join(remark)
        elif name := bare.partition(" = ")[0]:
            found[f"{table}.{name}".lstrip(".")] = " ".join(remark) or general
        remark = []
    return found


SHOWN = [*walk(tomllib.loads(enabled(TEXT)), judged(enabled(TEXT)).loaded.config)]
SENTENCES = sentences()


def sentence(shown: Shown) -> str:
    return SENTENCES[shown.place]


def default(field: FieldInfo) -> Any:
    return field.default if field.default is not NODEFAULT else field.default_factory()


def as_written(value: Any, field: FieldInfo) -> str:
    return json.dumps(spell(value) if marker(field.type, Span) else value)


def test_as_shipped_it_changes_nothing() -> None:
    judgement = judged(TEXT)
    assert judgement.problems == ()
    assert judgement.loaded.warnings == ()
    assert judgement.loaded.config == Config()


def test_with_every_example_in_force_it_is_still_a_good_file() -> None:
    judgement = judged(enabled(TEXT))
    assert judgement.problems == ()
    assert judgement.loaded.config != Config()


def test_every_key_is_there_exactly_once_and_no_other() -> None:
    counted = Counter(shown.key for shown in SHOWN)
    assert {key: times for key, times in counted.items() if times > 1} == {}
    assert [key for key in KEYS if key not in counted] == []
    assert [key for key in counted if key not in KEYS] == []


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.key)
def test_a_key_is_shown_with_its_true_default_or_says_it(shown: Shown) -> None:
    words = sentence(shown)
    if shown.field.required:
        assert "Required." in words
    elif default(shown.field) is None:
        assert "Not set by default" in words
    elif shown.value != default(shown.field):
        assert f"Default: {as_written(default(shown.field), shown.field)}." in words
    else:
        assert "Required" not in words
        assert "Default:" not in words
        assert "Not set" not in words


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.key)
def test_a_key_is_explained_in_whole_sentences(shown: Shown) -> None:
    words = sentence(shown)
    assert words[0].isupper()
    assert words.endswith((".", ").", "]."))


def test_lines_are_short_enough_to_read() -> None:
    assert [line for line in TEXT.splitlines() if len(line) > 100] == []


def test_every_choice_of_a_setting_is_named_in_its_sentence() -> None:
    choices = [
        (shown.key, sentence(shown), typing.get_args(core_of(shown.field.type)))
        for shown in SHOWN
        if typing.get_origin(core_of(shown.field.type)) is Literal
        and "fallbacks" not in shown.key  # these refer to [model]
        and ".model." not in shown.key
    ]
    assert len(choices) > 10
    for key, words, names in choices:
        assert [each for each in names if f'"{each}"' not in words] == [], key
