"""From a document to a configuration that may be used, or to every reason why not.

`read` and `judge` are two steps because plugins stand between them: the file says which plugins
are enabled, and only they know which further adapters may be configured. `load` does both for
callers without plugins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from hermes_actors.config.adapters import PROVIDERS
from hermes_actors.config.checks import contradictions, doubts
from hermes_actors.config.decode import Decoder, Surroundings
from hermes_actors.config.document import Document, read
from hermes_actors.config.problems import MOST_TOLD, Problem
from hermes_actors.config.schema import MAIN, Config
from hermes_actors.config.secrets import LITERAL, Secret, exposed, open_to_others
from hermes_actors.errors import ConfigError
from hermes_actors.redact import SHORTEST, Redactor


class Loaded(Struct, frozen=True):
    """A configuration that may be used.

    `secrets` pairs each dotted key with its secret, for a `Redactor`. `warnings` are sentences for
    the owner: what works, but should not stay so. `written` are the keys which the file sets; all
    others have their defaults.
    """

    config: Config
    path: Path | None
    home: Path
    secrets: tuple[tuple[str, Secret], ...] = ()
    warnings: tuple[str, ...] = ()
    written: frozenset[str] = frozenset()

    def redactor(self) -> Redactor:
        """A redactor that knows every secret of this configuration."""
        return Redactor(_pieces(self.secrets))


class Judgement(Struct, frozen=True):
    """What came of a document. Only if `problems` is empty may `loaded` be used to run."""

    loaded: Loaded
    problems: tuple[str, ...] = ()


def load(
    config: str | Path | None = None,
    home: str | Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    known_adapters: Collection[str] = (),
    known_agents: Collection[str] = (),
) -> Loaded:
    """Find, read and check the configuration; `ConfigError` holds every problem at once.

    `config` and `home` are the command line's wishes. `known_adapters` are names that plugins
    brought, `known_agents` those of agents which are defined outside the file.
    """
    document = read(config, home, environ=environ)
    judgement = judge(document, known_adapters=known_adapters, known_agents=known_agents)
    if judgement.problems:
        raise ConfigError(judgement.problems)
    return judgement.loaded


def judge(
    document: Document, *, known_adapters: Collection[str] = (), known_agents: Collection[str] = ()
) -> Judgement:
    """Check a document against the schema. Never raises: problems are part of the answer."""
    decoder = Decoder(_around(document, known_adapters, known_agents))
    config = decoder.config(document.tables)
    problems = [*decoder.problems, *contradictions(config, decoder.problems)]
    doubtful = [*doubts(config), *_careless(decoder.secrets, document)]
    redactor = Redactor(_pieces(decoder.secrets))
    loaded = Loaded(
        config=config,
        path=document.path,
        home=document.home,
        secrets=tuple(decoder.secrets),
        warnings=_told(doubtful, document.name, redactor),
        written=frozenset(decoder.written),
    )
    return Judgement(loaded, _told(problems, document.name, redactor))


def _around(document: Document, adapters: Collection[str], agents: Collection[str]) -> Surroundings:
    own = document.tables.get("agents")
    return Surroundings(
        folder=document.folder,
        environ=document.environ,
        agents=frozenset({MAIN, *agents, *(own if isinstance(own, dict) else ())}),
        providers=PROVIDERS,
        adapters=frozenset(adapters),
    )


def _pieces(secrets: Sequence[tuple[str, Secret]]) -> Iterator[str]:
    return (piece for _, secret in secrets for piece in secret.hidden())


def _careless(secrets: Sequence[tuple[str, Secret]], document: Document) -> Iterator[Problem]:
    for key, secret in secrets:
        if file := exposed(secret, document.folder):
            yield Problem(key, f"others on this machine may read {file}; run: chmod 600 {file}")
        if any(len(piece) < SHORTEST for piece in secret.hidden()):
            reason = f"has fewer than {SHORTEST} characters: too short to be hidden in log lines"
            yield Problem(key, reason)
    here = [key for key, secret in secrets if secret.origin == LITERAL and any(secret.hidden())]
    if here and document.path and open_to_others(document.path):
        reason = f"is written into a file that others may read; run: chmod 600 {document.path}"
        yield Problem(here[0], f'{reason}, or use "env:NAME"')


def _told(problems: Sequence[Problem], file: str, redactor: Redactor) -> tuple[str, ...]:
    lines = [redactor.text(each.told(file)) for each in problems[:MOST_TOLD]]
    if len(problems) > MOST_TOLD:
        lines.append(f"{file}: and {len(problems) - MOST_TOLD} more problems")
    return tuple(lines)
