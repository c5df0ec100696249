"""docs/configuration.md shows real files and real output."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from hermes_actors.config import Config, Document, Judgement, check, judge, show

PAGE = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- (\w+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))


def judged(name: str, **environ: str) -> Judgement:
    tables = tomllib.loads(BLOCKS[name])
    return judge(Document(Path("hermes.toml"), Path("/home"), tables, environ))


def test_the_mistakes_are_told_as_the_page_says() -> None:
    assert check(judged("mistakes")) == BLOCKS["told"]


def test_the_small_file_is_shown_as_the_page_says() -> None:
    judgement = judged("small", OPENAI_API_KEY="not-to-be-seen")
    assert judgement.problems == ()
    assert f"\n{BLOCKS['shown']}\n" in show(judgement.loaded)


def test_the_agents_and_routes_of_the_page_are_good() -> None:
    judgement = judged("agents")
    assert judgement.problems == ()
    config = judgement.loaded.config
    assert [rule.agent for rule in config.routes] == ["coder", "poet"]
    assert config.model_of("poet").name == "gpt-5-nano"
    assert config.toolsets_of("poet") == ()


def test_every_table_has_a_row() -> None:
    for table in Config.__struct_fields__:
        assert table in ("default_agent", "adapters") or re.search(rf"\[{table}[\].]", PAGE), table
    for adapter in type(Config().adapters).__struct_fields__:
        assert adapter == "others" or adapter in PAGE, adapter
