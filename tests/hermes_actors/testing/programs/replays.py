"""Prints the logs of many runs of a sweep, to be compared with those of another process."""

from __future__ import annotations

import sys

from hermes_actors.testing import replay
from tests.hermes_actors.testing import plays

for seed in range(5):
    for step in (0, 3, 7, 20):
        take = replay(plays.race, "both" if step else "none", step, seed)
        sys.stdout.write("\n".join([f"seed {seed} step {step}", *take.log.of("lap").lines(), ""]))
