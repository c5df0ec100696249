"""One line per transition, structured, without secrets, and never in the way of the work."""

from hermes_actors.logs.lines import LineWriter as LineWriter
from hermes_actors.logs.setup import Logs as Logs
from hermes_actors.logs.setup import start_logging as start_logging
