"""For every rule: logs that break it, with what is said about them, and near misses that do not.

A case is written as its title, the lines of the log, and the violations that the rule finds.
"""

from __future__ import annotations

from tests.hermes_actors.testing.cases import actors, messages, remote, runs, store
from tests.hermes_actors.testing.cases.lines import Cases

CASES: Cases = {
    **messages.CASES,
    **runs.CASES,
    **remote.CASES,
    **actors.CASES,
    **store.CASES,
}
