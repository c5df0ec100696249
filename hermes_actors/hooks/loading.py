"""From a name in the configuration to a plugin that has registered.

Only what the configuration enables is loaded. An installed distribution that offers a plugin is
an offer and nothing more, and no folder is searched for files. A plugin that is enabled but cannot
be loaded keeps the gateway from starting: a missing policy is worse than a missing gateway.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from hermes_actors.errors import ConfigError
from hermes_actors.hooks.plugins import NOTHING, Catalogue, Register
from hermes_actors.hooks.refusal import RegistrationRefused, nearest
from hermes_actors.journal import Journal

GROUP = "hermes_actors.plugins"
NO_SETTINGS: Mapping[str, Mapping[str, Any]] = {}


def load_plugins(
    enabled: Sequence[str],
    catalogue: Catalogue,
    journal: Journal,
    settings: Mapping[str, Mapping[str, Any]] = NO_SETTINGS,
) -> None:
    """Load every enabled plugin, in order; `ConfigError` names each that cannot be loaded.

    An entry is `"package.module:register"`, or the name of an entry point of the group
    `hermes_actors.plugins`. `settings` has a table for each entry that wants one, under that
    spelling or under the last part of its module's name.
    """
    problems = list(_misplaced(settings, enabled))
    for position, name in enumerate(enabled):
        if name in enabled[:position]:
            problems.append(f"plugins.enabled: '{name}' is listed twice")
        elif (reason := _load_one(name, catalogue, _settings_of(name, settings))) is not None:
            journal.note("plugin.failed", plugin=name)
            problems.append(f"plugins.enabled: '{name}' cannot be loaded: {reason}")
        else:
            journal.note("plugin.loaded", plugin=name)
    if problems:
        raise ConfigError(problems)


def _settings_of(name: str, settings: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    return settings.get(name, settings.get(_short(name), NOTHING))


def _short(name: str) -> str:
    return name.partition(":")[0].rpartition(".")[2]


def _misplaced(settings: Mapping[str, Any], enabled: Sequence[str]) -> Iterator[str]:
    """Tables that no plugin would read, or two."""
    for key in settings:
        readers = [name for name in dict.fromkeys(enabled) if key in (name, _short(name))]
        if not readers:
            hint = nearest(key, [*enabled, *map(_short, enabled)])
            yield f'plugins.settings."{key}": no enabled plugin is called so{hint}'
        elif len(readers) > 1 and key not in enabled:
            both = " and ".join(f"'{name}'" for name in readers)
            yield f'plugins.settings."{key}": is short for {both}; write the whole name'


def _load_one(name: str, catalogue: Catalogue, settings: Mapping[str, Any]) -> str | None:
    try:
        catalogue.install(name, _find(name), settings)
    except RegistrationRefused as refusal:
        return str(refusal)
    # Border to foreign code: reported. An import that calls sys.exit() is just as broken,
    # and would otherwise end the gateway without a word.
    except (Exception, SystemExit) as failure:  # noqa: BLE001
        return f"{type(failure).__name__}: {failure}"
    return None


def _find(name: str) -> Register:
    module, colon, path = name.partition(":")
    if not colon:
        return _callable(_offered(name).load())
    found: Any = importlib.import_module(module)
    for attribute in path.split("."):
        if not hasattr(found, attribute):
            hint = nearest(attribute, dir(found))
            raise RegistrationRefused(f"'{module}' has no '{path}'{hint}")
        found = getattr(found, attribute)
    return _callable(found)


def _callable(found: Any) -> Register:
    if not callable(found):
        raise RegistrationRefused(f"it is {type(found).__name__}, not a function 'register(ctx)'")
    register: Register = found
    return register


def _offered(name: str) -> EntryPoint:
    offers = list(entry_points(group=GROUP))
    matching = [offer for offer in offers if offer.name == name]
    if len({offer.value for offer in matching}) > 1:
        raise RegistrationRefused(
            "several installed distributions offer it: "
            + ", ".join(f"'{offer.value}'" for offer in matching)
            + "; enable one of them by that spelling"
        )
    if not matching:
        hint = nearest(name, [offer.name for offer in offers])
        raise RegistrationRefused(
            f"no installed distribution offers it{hint or f'; a module is {name}:register'}"
        )
    return matching[0]
