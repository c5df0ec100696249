"""Who is alive, as a table of contents.

Started from top to bottom, ended from bottom to top. At the root the order is a dependency: what
stands below may use what stands above, so a restart takes everything below it along.

    gateway            rest for one      at most 3 restarts in 60 s, then the process ends (75)
    ├─ hooks           worker            where plugins' handlers run
    ├─ store           worker            the single writer
    ├─ sessions        crowd             one actor per conversation, 3 restarts in 60 s each
    ├─ recovery        worker            ends what an earlier process left, wakes what waits
    └─ adapters        one for one       at most 5 restarts in 60 s, each with a growing pause
       ├─ api_server   worker
       └─ …            worker            one for each configured adapter
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hermes_actors.pure.backoff import Backoff
from hermes_actors.runtime import Actor
from supervisors.policy import Limit, Strategy
from supervisors.spec import Branch, Crowd, Door, Worker, worker

Make = Callable[[], Actor[Any]]
SEALING = 12.0
"""How long a conversation may take to seal its transcript and fire its hooks."""


class Parts(msgspec.Struct, frozen=True):
    """How to make each actor of the tree; the store's place and the way to the sessions."""

    hooks: Make
    store: Worker
    sessions: Door
    recovery: Make
    adapters: Mapping[str, Make]


def gateway_tree(parts: Parts, *, drain: float, grace: float) -> Branch:
    """The whole tree. `drain` is how long those may finish who have something to finish."""
    adapters = tuple(
        worker(name, make, drain=drain, grace=grace, backoff=Backoff(first=1.0, most=60.0))
        for name, make in parts.adapters.items()
    )
    return Branch(
        name="gateway",
        strategy=Strategy.REST_FOR_ONE,
        limit=Limit(restarts=3, period=60.0),
        children=(
            worker("hooks", parts.hooks, grace=grace),
            parts.store,
            Crowd(
                name="sessions",
                door=parts.sessions,
                limit=Limit(restarts=3, period=60.0),
                drain=drain,
                grace=SEALING,
            ),
            worker("recovery", parts.recovery, grace=grace),
            Branch(
                name="adapters",
                strategy=Strategy.ONE_FOR_ONE,
                limit=Limit(restarts=5, period=60.0),
                children=adapters,
            ),
        ),
    )
