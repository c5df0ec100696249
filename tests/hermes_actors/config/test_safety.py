"""Whatever a file holds, it is judged and never raises; and no secret of it is ever told."""

from __future__ import annotations

import json
import pickle
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_actors.config import Config, Secret, SecretUrl, check, judge, load, read, show
from hermes_actors.config.keys import all_keys, core_of
from hermes_actors.config.single import base_of
from hermes_actors.errors import ConfigError
from tests.hermes_actors.config.files import ENVIRONMENT, judged, judged_tables

NAMES = sorted({part for key, _ in all_keys(Config) for part in key.replace("[]", "").split(".")})
WORDS = ["env:KEY", "env:GONE", "file:/gone", "file:\0", "never", "30s", "demo", "main", "", "~x"]

names = st.sampled_from(NAMES) | st.text(max_size=5)
leaves = (
    st.sampled_from(WORDS)
    | st.text(max_size=20)
    | st.integers()
    | st.floats()
    | st.booleans()
    | st.dates()
    | st.datetimes()
    | st.times()
)
tables = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


def at(key: str, value: Any) -> dict[str, Any]:
    """The tables in which only this key is set."""
    for part in reversed(key.replace("<name>", "mine").split(".")):
        value = {part.removesuffix("[]"): [value] if part.endswith("[]") else value}
    return dict(value)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.dictionaries(names, tables, max_size=6))
def test_any_tables_are_judged_and_nothing_is_raised(raw: dict[str, Any]) -> None:
    judgement = judged_tables(raw, adapters={"main"})
    assert all(isinstance(each, str) and "\n" not in each for each in judgement.problems)
    assert check(judgement)
    tomllib.loads(show(judgement.loaded))


@settings(max_examples=100)
@given(st.sampled_from([key for key, _ in all_keys(Config)]), tables)
def test_any_value_of_any_key_is_judged_and_nothing_is_raised(key: str, value: Any) -> None:
    judgement = judged_tables(at(key, value))
    assert all(isinstance(each, str) and "\n" not in each for each in judgement.problems)
    tomllib.loads(show(judgement.loaded))


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused_in_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(raw)
    refusals: list[tuple[str, ...]] = []
    try:
        judge(read(file, file.parent, environ={}))
    except ConfigError as refused:
        refusals.append(refused.problems)
    assert all(len(each) == 1 for each in refusals)


def secret_keys() -> list[str]:
    kinds = {key: base_of(core_of(field.type)) for key, field in all_keys(Config)}
    return [key for key, kind in kinds.items() if kind in (Secret, SecretUrl)]


CANARY = "canary-5e1f"


@pytest.mark.parametrize("key", secret_keys())
@pytest.mark.parametrize("written", [CANARY, "env:CANARY", "file:{file}", f"env:{CANARY}"])
def test_no_output_about_a_secret_holds_it(key: str, written: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(CANARY)
    environ = {**ENVIRONMENT, "CANARY": CANARY}
    judgement = judged_tables(at(key, written.format(file=file)), environ)
    outputs = [
        check(judgement),
        show(judgement.loaded),
        repr(judgement),
        str(judgement.loaded),
        f"{judgement.loaded.config}",
        repr(ConfigError(judgement.problems)),
        "\n".join(judgement.loaded.warnings),
    ]
    assert [CANARY in each for each in outputs] == [False] * len(outputs)


def test_there_are_secrets_to_be_tried() -> None:
    assert {"model.api_key", "store.url", "adapters.telegram.token"} <= {*secret_keys()}


def test_no_encoder_writes_out_a_configuration_that_holds_a_secret() -> None:
    loaded = judged(f'[adapters.telegram]\ntoken = "{CANARY}"').loaded
    for encode in (msgspec.json.encode, msgspec.to_builtins, pickle.dumps, json.dumps):
        for value in (loaded, loaded.config, loaded.secrets):
            with pytest.raises(TypeError) as caught:
                encode(value)
            assert CANARY not in str(caught.value)


def test_a_value_under_an_unknown_key_is_never_repeated(tmp_path: Path) -> None:
    file = tmp_path / "hermes.toml"
    file.write_text(f'[model]\napikey = "{CANARY}"\nname = ["{CANARY}"]\n[gateway]\nhome = 1')
    with pytest.raises(ConfigError) as caught:
        load(file, tmp_path, environ={})
    assert len(caught.value.problems) == 3
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("broken", ['api_key = "{}', "api_key = {}", 'x = "{}"\nx = "{}"'])
def test_a_file_that_is_not_toml_is_not_quoted(tmp_path: Path, broken: str) -> None:
    file = tmp_path / "hermes.toml"
    file.write_text(broken.replace("{}", CANARY))
    with pytest.raises(ConfigError) as caught:
        read(file, tmp_path, environ={})
    assert CANARY not in str(caught.value)
