"""What judging one input may cost, so that no input costs more than the limits in docs/verify.md.

A unit is about one public-key operation. Costs are derived from the input alone, never from a clock or a
cache: the same input is always judged as far.
"""

from __future__ import annotations

from foja.pure.proofs.finding import Flaw, Reason, Status

MAX_COST = 1000


class Budget:
    """The units that are left for one input."""

    def __init__(self, units: int = MAX_COST) -> None:
        self._left = units

    def spend(self, units: int) -> None:
        """Take units for what comes next, or raise `Flaw` if too few are left."""
        self._left -= units
        if self._left < 0:
            detail = f"it was not judged: all proofs together cost more than {MAX_COST} operations"
            raise Flaw(Reason.TOO_COSTLY, detail, Status.INDETERMINATE)
