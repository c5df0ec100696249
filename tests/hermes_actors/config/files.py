"""What the tests of the configuration share: a file as text, judged."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from hermes_actors.config import Config, Document, Judgement, judge

ENVIRONMENT = {"KEY": "k3y-0f-the-h0use-0123456789-abcdefgh", "EMPTY": "", "SHORT": "abc"}


def judged(
    text: str,
    environ: Mapping[str, str] = ENVIRONMENT,
    adapters: Collection[str] = (),
    agents: Collection[str] = (),
) -> Judgement:
    """The judgement on a file that holds this text and lies nowhere."""
    return judged_tables(tomllib.loads(text), environ, adapters, agents)


def judged_tables(
    tables: dict[str, Any],
    environ: Mapping[str, str] = ENVIRONMENT,
    adapters: Collection[str] = (),
    agents: Collection[str] = (),
) -> Judgement:
    document = Document(None, Path("/home"), tables, environ)
    return judge(document, known_adapters=adapters, known_agents=agents)


def told(text: str, **more: Any) -> list[str]:
    """The problems of this text, without the name of the file."""
    return [each.removeprefix("(no file): ") for each in judged(text, **more).problems]


def warned(text: str, **more: Any) -> list[str]:
    """The warnings of this text, which must have no problems."""
    judgement = judged(text, **more)
    assert judgement.problems == ()
    return [each.removeprefix("(no file): ") for each in judgement.loaded.warnings]


def config(text: str, **more: Any) -> Config:
    """The configuration of a text that must have no problems."""
    judgement = judged(text, **more)
    assert judgement.problems == ()
    return judgement.loaded.config
