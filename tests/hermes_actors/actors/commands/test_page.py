"""What the page about commands quotes is what people really read."""

from __future__ import annotations

from pathlib import Path

from hermes_actors.actors import keeping
from hermes_actors.actors.commands.background import MOST

PAGE = (Path(__file__).parents[4] / "docs" / "commands.md").read_text("utf-8")
NUMBERS = {4: "four"}


def test_the_words_for_a_busy_chat_are_quoted_as_they_are_said() -> None:
    first = keeping.TOLD.partition(". ")[0]
    for words in (keeping.LATER.format(place=2), f"{first}. …", keeping.TAKES_OVER):
        assert f"| {words} |" in PAGE


def test_the_page_knows_how_many_background_runs_there_may_be() -> None:
    assert f"At most {NUMBERS[MOST]} run at once per chat." in PAGE
