"""Models: who answers. `make_model` builds one from the settings; the rest is how."""

from adapters.models.factory import Shared as Shared
from adapters.models.factory import make_model as make_model
