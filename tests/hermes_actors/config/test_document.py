"""The file is found in a fixed order, and one that cannot be read is told in one sentence."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hermes_actors.config import Document, read
from hermes_actors.config.document import CONFIG_VARIABLE, HOME_VARIABLE
from hermes_actors.errors import ConfigError


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """An empty folder that is the current one."""
    before = Path.cwd()
    folder = tmp_path / "here"
    folder.mkdir()
    os.chdir(folder)
    yield folder
    os.chdir(before)


def written(path: Path, text: str | bytes = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def sentence(path: Path) -> str:
    """The one sentence about a file that cannot be used."""
    with pytest.raises(ConfigError) as caught:
        read(path, path.parent, environ={})
    (problem,) = caught.value.problems
    assert caught.value.exit_code == 78
    return problem


def test_the_first_file_in_the_fixed_order_is_read(here: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    wish, variable = written(tmp_path / "wish.toml"), written(tmp_path / "variable.toml")
    local, at_home = written(here / "hermes.toml"), written(home / "hermes.toml")
    environ = {CONFIG_VARIABLE: str(variable)}
    order = [
        read(wish, home, environ=environ).path,
        read(None, home, environ=environ).path,
        read(None, home, environ={}).path,
    ]
    local.unlink()
    order.append(read(None, home, environ={}).path)
    at_home.unlink()
    order.append(read(None, home, environ={}).path)
    assert order == [wish, variable, Path("hermes.toml"), at_home, None]


def test_without_any_file_there_are_no_tables(here: Path, tmp_path: Path) -> None:
    document = read(None, tmp_path, environ={})
    assert (document.path, document.tables, document.name) == (None, {}, "(no file)")
    assert document.folder == here


def test_the_home_is_the_wish_then_the_variable_then_the_files_then_the_usual_one(
    here: Path,
) -> None:
    file = written(here / "sub" / "hermes.toml", 'gateway.home = "data"')
    environ = {HOME_VARIABLE: "/from/variable"}
    assert [
        read(file, "/from/wish", environ=environ).home,
        read(file, None, environ=environ).home,
        read(file, None, environ={}).home,
        read(written(here / "none.toml"), None, environ={}).home,
    ] == [
        Path("/from/wish"),
        Path("/from/variable"),
        here / "sub" / "data",
        Path.home() / ".hermes-actors",
    ]


def test_empty_variables_count_as_not_set(here: Path) -> None:
    document = read(None, None, environ={HOME_VARIABLE: "", CONFIG_VARIABLE: ""})
    assert (document.path, document.home) == (None, Path.home() / ".hermes-actors")


def test_a_relative_home_is_made_absolute(here: Path) -> None:
    assert read(None, "data", environ={}).home == here / "data"


def test_the_real_environment_is_used_when_none_is_given(here: Path) -> None:
    assert read(None, here).environ is os.environ


def test_a_home_of_a_wrong_kind_is_left_to_the_judgement(here: Path) -> None:
    file = written(here / "hermes.toml", "gateway.home = 3")
    assert read(file, None, environ={}).home == Path.home() / ".hermes-actors"


def test_the_plugins_are_known_before_the_judgement(here: Path) -> None:
    for text, names in {
        'plugins.enabled = ["a:b", 3, "c:d"]': ("a:b", "c:d"),
        'plugins.enabled = "a:b"': (),
        "plugins = 3": (),
        "": (),
    }.items():
        assert read(written(here / "x.toml", text), here, environ={}).enabled_plugins() == names


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "gone.toml"
    assert sentence(path) == f"{path}: cannot be read: no such file or directory"


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    assert sentence(tmp_path) == f"{tmp_path}: cannot be read: is a directory"


def test_a_link_to_nowhere_is_a_mistake_and_not_a_missing_file(here: Path) -> None:
    (here / "hermes.toml").symlink_to(here / "gone")
    with pytest.raises(ConfigError, match=r"^hermes\.toml: cannot be read: no such file"):
        read(None, here, environ={})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = written(tmp_path / "x.toml")
    path.chmod(0)
    assert sentence(path) == f"{path}: cannot be read: permission denied"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a = 1\nb = \xff\n", "line 2: is not UTF-8 text; save it as UTF-8"),
        (b"\x7fELF\x00\x01", "line 1, column 1: invalid statement"),
        (b"[model\n", "line 1, column 7: expected ']' at the end of a table declaration"),
        (b"a =", "end of document: invalid value"),
        (b"a = 1\na = 2\n", "line 2, column 6: cannot overwrite a value"),
        (b"[model]\n[model]\n", "line 2, column 7: cannot declare [model] twice"),
        (b"[a.b]\n[a.b]\n", "line 2, column 5: cannot declare [a.b] twice"),
        (b"a = " + b"[" * 50_000, "lists or tables are nested too deeply"),
        (b"a = " + b"1" * 50_000, "a number has too many digits"),
        (b"#" * 5_000_000, "is larger than 4194304 bytes; is it the right file?"),
    ],
    ids=[
        "latin",
        "binary",
        "bracket",
        "cut",
        "twice",
        "table twice",
        "tables twice",
        "deep",
        "digits",
        "huge",
    ],
)
def test_a_file_that_is_not_toml_is_told_in_one_sentence(
    tmp_path: Path, text: bytes, reason: str
) -> None:
    path = written(tmp_path / "x.toml", text)
    assert sentence(path) == f"{path}: {reason}"


def test_the_marks_that_windows_editors_leave_do_no_harm(tmp_path: Path) -> None:
    path = written(tmp_path / "x.toml", b'\xef\xbb\xbfdefault_agent = "main"\r\n')
    assert read(path, tmp_path, environ={}).tables == {"default_agent": "main"}


@pytest.mark.parametrize("wish", ["~nobody-has-this-name/x", "a\0b"])
def test_a_path_that_cannot_be_is_told_in_one_sentence(wish: str) -> None:
    for config, home in ((wish, None), (None, wish)):
        with pytest.raises(ConfigError) as caught:
            read(config, home, environ={})
        (problem,) = caught.value.problems
        assert problem.startswith(f"{wish!r}: ")


def test_a_document_shows_and_hands_out_nothing_of_its_content(tmp_path: Path) -> None:
    document = Document(tmp_path, tmp_path, {"key": "canary"}, {"KEY": "canary"})
    assert repr(document) == str(document) == f"Document({tmp_path})"
    with pytest.raises(TypeError, match="it holds secrets"):
        pickle.dumps(document)
    with pytest.raises(TypeError):
        msgspec.json.encode(document)
