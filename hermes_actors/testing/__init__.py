"""Test your own actors and plugins on virtual time.

`living` runs an actor, and `installed` a plugin, for the length of a block; `EventLog` and `check`
say what happened and whether it may; `cancel_at_every_step` tries a stop at every point of a
scenario; `run_until_killed` kills a process at a named one; the doubles stand in for the outside.
See docs/testing.md.

Names are looked up on first use: pytest loads `hermes_actors.testing.fixtures` in every project of
an environment that has this package, and must not pay for what such a project does not use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_actors.testing.alive import Alive as Alive
    from hermes_actors.testing.alive import Running as Running
    from hermes_actors.testing.alive import living as living
    from hermes_actors.testing.alive import running as running
    from hermes_actors.testing.census import take_census as take_census
    from hermes_actors.testing.event_log import DamagedLog as DamagedLog
    from hermes_actors.testing.event_log import EventLog as EventLog
    from hermes_actors.testing.event_log import recorded as recorded
    from hermes_actors.testing.failpoints import Death as Death
    from hermes_actors.testing.failpoints import run_until_killed as run_until_killed
    from hermes_actors.testing.fake_client import FakeRemoteClient as FakeRemoteClient
    from hermes_actors.testing.fake_platform import FINE as FINE
    from hermes_actors.testing.fake_platform import LOST_ANSWER as LOST_ANSWER
    from hermes_actors.testing.fake_platform import FakePlatform as FakePlatform
    from hermes_actors.testing.invariants import INVARIANTS as INVARIANTS
    from hermes_actors.testing.invariants import Violation as Violation
    from hermes_actors.testing.invariants import assert_invariants as assert_invariants
    from hermes_actors.testing.invariants import check as check
    from hermes_actors.testing.plugin_host import Installed as Installed
    from hermes_actors.testing.plugin_host import installed as installed
    from hermes_actors.testing.script import HANG as HANG
    from hermes_actors.testing.script import Finish as Finish
    from hermes_actors.testing.script import Pause as Pause
    from hermes_actors.testing.script import calls as calls
    from hermes_actors.testing.scripted_model import ScriptedModel as ScriptedModel
    from hermes_actors.testing.scripted_model import ScriptExhausted as ScriptExhausted
    from hermes_actors.testing.sweep import Limits as Limits
    from hermes_actors.testing.sweep import Stage as Stage
    from hermes_actors.testing.sweep import SweepReport as SweepReport
    from hermes_actors.testing.sweep import cancel_at_every_step as cancel_at_every_step
    from hermes_actors.testing.sweep import replay as replay
    from hermes_actors.testing.vocabulary import VOCABULARY as VOCABULARY

_HOMES = {
    "census": ("take_census",),
    "event_log": ("DamagedLog", "EventLog", "recorded"),
    "failpoints": ("Death", "run_until_killed"),
    "fake_client": ("FakeRemoteClient",),
    "fake_platform": ("FINE", "LOST_ANSWER", "FakePlatform"),
    "invariants": ("INVARIANTS", "Violation", "assert_invariants", "check"),
    "alive": ("Alive", "Running", "living", "running"),
    "plugin_host": ("Installed", "installed"),
    "script": ("HANG", "Finish", "Pause", "calls"),
    "scripted_model": ("ScriptExhausted", "ScriptedModel"),
    "sweep": ("Limits", "Stage", "SweepReport", "cancel_at_every_step", "replay"),
    "vocabulary": ("VOCABULARY",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME_OF)
