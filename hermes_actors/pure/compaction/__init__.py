"""Makes a long history shorter: what to summarise, how to ask for it, and whether to take it."""

from hermes_actors.pure.compaction.outcome import Refused as Refused
from hermes_actors.pure.compaction.outcome import accept as accept
from hermes_actors.pure.compaction.outcome import digest as digest
from hermes_actors.pure.compaction.plan import CompactionLimits as CompactionLimits
from hermes_actors.pure.compaction.plan import Plan as Plan
from hermes_actors.pure.compaction.plan import plan as plan
from hermes_actors.pure.compaction.prompt import SYSTEM as SYSTEM
from hermes_actors.pure.compaction.prompt import prompt as prompt
from hermes_actors.pure.compaction.size import estimate as estimate
from hermes_actors.pure.compaction.size import threshold as threshold
