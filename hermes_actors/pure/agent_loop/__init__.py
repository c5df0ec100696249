"""The agent loop: what an agent does next, decided without waiting for anything."""

from hermes_actors.pure.agent_loop.events import AskModel as AskModel
from hermes_actors.pure.agent_loop.events import Begin as Begin
from hermes_actors.pure.agent_loop.events import Compact as Compact
from hermes_actors.pure.agent_loop.events import Compacted as Compacted
from hermes_actors.pure.agent_loop.events import CompactionRefused as CompactionRefused
from hermes_actors.pure.agent_loop.events import Cut as Cut
from hermes_actors.pure.agent_loop.events import Effect as Effect
from hermes_actors.pure.agent_loop.events import End as End
from hermes_actors.pure.agent_loop.events import Event as Event
from hermes_actors.pure.agent_loop.events import Keep as Keep
from hermes_actors.pure.agent_loop.events import ModelGaveUp as ModelGaveUp
from hermes_actors.pure.agent_loop.events import ModelReplied as ModelReplied
from hermes_actors.pure.agent_loop.events import RunTools as RunTools
from hermes_actors.pure.agent_loop.events import Say as Say
from hermes_actors.pure.agent_loop.events import Steered as Steered
from hermes_actors.pure.agent_loop.events import ToolAnswered as ToolAnswered
from hermes_actors.pure.agent_loop.events import Warn as Warn
from hermes_actors.pure.agent_loop.limits import LoopLimits as LoopLimits
from hermes_actors.pure.agent_loop.loop import EXPECTED as EXPECTED
from hermes_actors.pure.agent_loop.loop import AgentLoop as AgentLoop
from hermes_actors.pure.agent_loop.loop import OutOfOrder as OutOfOrder
from hermes_actors.pure.agent_loop.run import Phase as Phase
from hermes_actors.pure.agent_loop.words import STEER_NOTE as STEER_NOTE
