"""The history of a conversation, and what makes it fit to be sent to a model."""

from hermes_actors.pure.transcript.dialects import ANTHROPIC as ANTHROPIC
from hermes_actors.pure.transcript.dialects import DIALECTS as DIALECTS
from hermes_actors.pure.transcript.dialects import OPENAI_CHAT as OPENAI_CHAT
from hermes_actors.pure.transcript.dialects import OPENAI_RESPONSES as OPENAI_RESPONSES
from hermes_actors.pure.transcript.dialects import Dialect as Dialect
from hermes_actors.pure.transcript.repair import repair as repair
from hermes_actors.pure.transcript.seal import ACTED as ACTED
from hermes_actors.pure.transcript.seal import LEFT_BEHIND as LEFT_BEHIND
from hermes_actors.pure.transcript.seal import MAY_REPEAT as MAY_REPEAT
from hermes_actors.pure.transcript.seal import STOPPED as STOPPED
from hermes_actors.pure.transcript.seal import UNKNOWN_EFFECT as UNKNOWN_EFFECT
from hermes_actors.pure.transcript.seal import open_calls as open_calls
from hermes_actors.pure.transcript.seal import seal as seal
from hermes_actors.pure.transcript.validate import Problem as Problem
from hermes_actors.pure.transcript.validate import validate as validate
