"""Nothing is loaded unless it is enabled; what is enabled and cannot be loaded is said aloud.

Real modules and real distributions, in a folder that is on the path for one test.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_actors.errors import ConfigError
from hermes_actors.hooks import Catalogue, load_plugins

from .doubles import World

REGISTERS = """
import sys
sys.loaded_plugins = [*getattr(sys, "loaded_plugins", []), __name__]

def register(ctx):
    ctx.command(__name__, lambda raw_args: raw_args)
    for key in ctx.settings:
        ctx.command(key, lambda raw_args: raw_args)
"""


class Shelf:
    """A folder on the path, in which modules and distributions can be put."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.world = World()
        self.catalogue = Catalogue(self.world.bus)

    def module(self, name: str, code: str = REGISTERS) -> None:
        (self.folder / f"{name}.py").write_text(code)
        importlib.invalidate_caches()

    def distribution(self, name: str, **entry_points: str) -> None:
        info = self.folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [f"{entry} = {value}" for entry, value in entry_points.items()]
        text = "\n".join(["[hermes_actors.plugins]", *lines, ""])
        (info / "entry_points.txt").write_text(text)
        importlib.invalidate_caches()

    def load(self, *enabled: str, **options: Any) -> list[str]:
        """The problems; none when all went well."""
        try:
            load_plugins(enabled, self.catalogue, self.world.journal, **options)
        except ConfigError as error:
            return list(error.problems)
        return []

    @property
    def commands(self) -> list[str]:
        return list(self.catalogue.commands)

    @property
    def imported(self) -> list[str]:
        """Modules of this shelf whose code has been run."""
        return list(getattr(sys, "loaded_plugins", []))


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    modules, path = set(sys.modules), list(sys.path)
    sys.path.insert(0, str(tmp_path))
    yield Shelf(tmp_path)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]
    vars(sys).pop("loaded_plugins", None)
    importlib.invalidate_caches()


def test_a_module_is_enabled_by_its_path(shelf: Shelf) -> None:
    shelf.module("acme_audit")
    assert shelf.load("acme_audit:register") == []
    assert shelf.commands == ["acme_audit"]
    assert [(e.kind, e.data) for e in shelf.world.journal.recent()] == [
        ("plugin.loaded", {"plugin": "acme_audit:register"})
    ]


def test_a_register_may_be_a_method_further_inside(shelf: Shelf) -> None:
    shelf.module("deep", "class Plugin:\n def start(ctx): ctx.command('deep', print)\n")
    assert shelf.load("deep:Plugin.start") == []
    assert shelf.commands == ["deep"]


def test_a_distribution_is_enabled_by_the_name_of_its_entry_point(shelf: Shelf) -> None:
    shelf.module("acme_audit")
    shelf.distribution("acme", audit="acme_audit:register")
    assert shelf.load("audit") == []
    assert shelf.commands == ["acme_audit"]


def test_nothing_is_loaded_that_is_not_enabled(shelf: Shelf) -> None:
    shelf.module("dropped")
    shelf.module("offered")
    shelf.module("wanted")
    shelf.distribution("acme", offered="offered:register", wanted="wanted:register")
    assert shelf.load() == []
    assert shelf.imported == []
    assert shelf.load("wanted") == []
    assert shelf.imported == ["wanted"]  # looking for one does not run the others
    assert shelf.commands == ["wanted"]


def test_plugins_are_loaded_in_the_order_in_which_they_are_listed(shelf: Shelf) -> None:
    for name in ("a", "b", "c"):
        shelf.module(f"plugin_{name}")
    shelf.load("plugin_c:register", "plugin_a:register", "plugin_b:register")
    assert shelf.commands == ["plugin_c", "plugin_a", "plugin_b"]


def test_an_unknown_name_is_refused_with_the_nearest_one(shelf: Shelf) -> None:
    shelf.distribution("acme", audit="acme_audit:register")
    assert shelf.load("audi") == [
        "plugins.enabled: 'audi' cannot be loaded: "
        "no installed distribution offers it; did you mean 'audit'?"
    ]
    assert shelf.load("zzz") == [
        "plugins.enabled: 'zzz' cannot be loaded: "
        "no installed distribution offers it; a module is zzz:register"
    ]


def test_a_wrong_function_is_refused_with_the_nearest_one(shelf: Shelf) -> None:
    shelf.module("acme_audit")
    assert shelf.load("acme_audit:regster", "acme_audit:") == [
        "plugins.enabled: 'acme_audit:regster' cannot be loaded: "
        "'acme_audit' has no 'regster'; did you mean 'register'?",
        "plugins.enabled: 'acme_audit:' cannot be loaded: 'acme_audit' has no ''",
    ]


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("register = 42", "it is int, not a function 'register(ctx)'"),
        ("raise ValueError('at import')", "ValueError: at import"),
        ("import sys; sys.exit('bye')", "SystemExit: bye"),
        ("import nothing_of_this_name", "ModuleNotFoundError: No module named 'nothing_of_thi"),
        ("def register(ctx", "SyntaxError: "),
        ("def register(ctx): raise ValueError('later')", "ValueError: later"),
        ("def register(ctx): import sys; sys.exit(3)", "SystemExit: 3"),
        ("def register(): pass", "TypeError: register() takes 0 positional arguments"),
        ("async def register(ctx): pass", "'register' must be a plain function"),
        ("def register(ctx): ctx.hook('on_sesion_end', print)", "there is no hook 'on_sesion_end'"),
    ],
)
def test_a_plugin_that_fails_is_named_with_the_reason(
    shelf: Shelf, code: str, complaint: str
) -> None:
    shelf.module("broken", code)
    (problem,) = shelf.load("broken:register")
    assert problem.startswith(f"plugins.enabled: 'broken:register' cannot be loaded: {complaint}")
    assert [entry.kind for entry in shelf.world.journal.recent()] == ["plugin.failed"]


def test_every_problem_is_told_at_once_and_the_sound_ones_are_still_tried(shelf: Shelf) -> None:
    shelf.module("sound")
    shelf.module("broken", "raise ValueError")
    problems = shelf.load("broken:register", "sound:register", "missing:register")
    assert [problem.split("'")[1] for problem in problems] == [
        "broken:register",
        "missing:register",
    ]
    assert shelf.commands == ["sound"]


def test_a_plugin_that_is_listed_twice_is_a_mistake(shelf: Shelf) -> None:
    shelf.module("acme_audit")
    assert shelf.load("acme_audit:register", "acme_audit:register") == [
        "plugins.enabled: 'acme_audit:register' is listed twice"
    ]


def test_a_name_that_two_distributions_offer_is_not_guessed(shelf: Shelf) -> None:
    for name in ("one", "two"):
        shelf.module(name)
        shelf.distribution(name, audit=f"{name}:register")
    (problem,) = shelf.load("audit")
    assert "several installed distributions offer it" in problem
    assert "'one:register'" in problem
    assert "enable one of them by that spelling" in problem
    assert shelf.load("two:register") == []


def test_the_same_offer_seen_twice_is_one_offer(shelf: Shelf) -> None:
    shelf.module("acme_audit")
    shelf.distribution("acme", audit="acme_audit:register")
    shelf.distribution("acme_again", audit="acme_audit:register")
    assert shelf.load("audit") == []


@pytest.mark.parametrize("key", ["two:register", "two"])
def test_settings_reach_the_plugin_that_they_are_for(shelf: Shelf, key: str) -> None:
    shelf.module("one")
    shelf.module("two")
    assert shelf.load("one:register", "two:register", settings={key: {"loud": True}}) == []
    assert shelf.commands == ["one", "two", "loud"]


def test_settings_for_nobody_are_a_mistake(shelf: Shelf) -> None:
    shelf.module("audit")
    assert shelf.load("audit:register", settings={"audt": {}, "zzz": {}}) == [
        "plugins.settings.\"audt\": no enabled plugin is called so; did you mean 'audit'?",
        'plugins.settings."zzz": no enabled plugin is called so',
    ]


def test_settings_for_two_are_a_mistake_until_the_whole_name_is_written(shelf: Shelf) -> None:
    shelf.module("audit", REGISTERS + "also = lambda ctx: None\n")
    both = "audit:register", "audit:also"
    assert shelf.load(*both, settings={"audit": {}}) == [
        "plugins.settings.\"audit\": is short for 'audit:register' and 'audit:also'; "
        "write the whole name"
    ]
    shelf.catalogue = Catalogue(World().bus)
    assert shelf.load(*both, settings={"audit:register": {"loud": True}}) == []
