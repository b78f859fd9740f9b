"""What counts as rounding, in relative units."""

from __future__ import annotations

# Numbers that differ by less are equal: sums of some thousand terms are known no better.
EQUAL = 1e-12
# Constraints and conditions of optimality that are violated by less hold: solvers reach no more where terms cancel.
HOLDS = 1e-9
