"""hermes.toml: found, read, checked and turned into frozen values before anything starts."""

from hermes_actors.config.document import Document, read
from hermes_actors.config.loader import Judgement, Loaded, judge, load
from hermes_actors.config.report import check, show
from hermes_actors.config.schema import Config
from hermes_actors.config.secrets import Secret, SecretUrl, revealed

__all__ = [
    "Config",
    "Document",
    "Judgement",
    "Loaded",
    "Secret",
    "SecretUrl",
    "check",
    "judge",
    "load",
    "read",
    "revealed",
    "show",
]
