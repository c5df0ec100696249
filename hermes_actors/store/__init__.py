"""What must survive: one SQLite file, one writer, and the promise *commit, then speak*.

`Store` is what the rest of the house holds; the modules beside it (`inbox`, `runs`, `outbox`, …)
say what can be written and asked. See docs/store.md.
"""

from hermes_actors.store.actor import StoreActor as StoreActor
from hermes_actors.store.connection import StoreSettings as StoreSettings
from hermes_actors.store.operation import Read as Read
from hermes_actors.store.operation import Write as Write
from hermes_actors.store.operation import all_of as all_of
from hermes_actors.store.readers import Readers as Readers
from hermes_actors.store.store import Store as Store
