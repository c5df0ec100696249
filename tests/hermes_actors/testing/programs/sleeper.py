"""Never ends by itself."""

from __future__ import annotations

import sys
import time

sys.stderr.write("still here\n")
sys.stderr.flush()
time.sleep(600)
