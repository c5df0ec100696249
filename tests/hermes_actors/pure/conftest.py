"""Properties are tried with the same examples on every machine, however slow it is."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "pure",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("pure")
