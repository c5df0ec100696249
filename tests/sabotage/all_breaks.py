"""Every break there is."""

from __future__ import annotations

from tests.sabotage import kernel, life_and_death, memory, models, surroundings
from tests.sabotage.break_ import Break

ALL: tuple[Break, ...] = (
    *kernel.BREAKS,
    *life_and_death.BREAKS,
    *memory.BREAKS,
    *models.BREAKS,
    *surroundings.BREAKS,
)
