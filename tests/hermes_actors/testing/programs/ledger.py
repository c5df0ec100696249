"""Writes numbers to a file, one by one, and passes a failpoint before each is kept.

`python -m … ledger.txt 5 [child.txt]`: with a third argument it first starts a child that would
outlive it, and writes its number there.
"""

from __future__ import annotations

import subprocess
import sys

from hermes_actors.failpoints import Point, failpoint

path, count, *rest = sys.argv[1:]
if rest:
    child = subprocess.Popen(["sleep", "600"])
    with open(rest[0], "w") as name:
        name.write(str(child.pid))
for number in range(int(count)):
    with open(path, "a") as ledger:
        failpoint(Point.STORE_COMMIT_BEFORE)
        ledger.write(f"{number}\n")
    sys.stdout.write(f"kept {number}\n")
    sys.stdout.flush()
