"""docs/models.md: every file on it is good, every sentence for the demo does what it says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from adapters.models import make_model
from adapters.models.demo.script import perform
from hermes_actors.config import Document, judge
from hermes_actors.config.adapters import PROVIDERS
from hermes_actors.config.schema import ModelSettings
from hermes_actors.values import ToolCallDelta, ToolSpec, UserMessage
from tests.adapters.models.talk import TERMINAL, ask

PAGE = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
FILES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
KEYS = dict.fromkeys(("OPENAI_API_KEY", "OPENROUTER_API_KEY", "ANTHROPIC_API_KEY"), "some-key")
READ_FILE = ToolSpec("read_file", "", {"properties": {"path": {"type": "string"}}})


@pytest.mark.parametrize("text", FILES)
def test_every_file_is_good_and_makes_a_model(text: str) -> None:
    document = Document(Path("hermes.toml"), Path("/home"), tomllib.loads(text), KEYS)
    judgement = judge(document)
    assert judgement.problems == ()
    assert make_model(judgement.loaded.config.model)


def test_every_provider_has_an_example() -> None:
    shown = {tomllib.loads(text)["model"]["provider"] for text in FILES}
    assert shown == PROVIDERS


def test_what_the_page_says_of_the_demo_is_true() -> None:
    said = [row.strip("` ") for row in re.findall(r"^\| (`.*?`+) \| ", PAGE, re.MULTILINE)]
    calls = {}
    for words in said:
        words = words + "`" if words.count("`") % 2 else words
        beats = perform(ask(UserMessage(words), tools=(TERMINAL, READ_FILE)))
        calls[words] = sum(isinstance(beat.delta, ToolCallDelta) for beat in beats)
    wanted = [calls[each] for each in calls if each.startswith("use ")]
    assert wanted == [1, 1, 2]


@pytest.mark.parametrize("key", ["connect_timeout", "idle_timeout", "request_timeout", "tries"])
def test_every_key_that_the_page_names_exists(key: str) -> None:
    assert f"`{key}`" in PAGE
    assert key in ModelSettings.__struct_fields__
