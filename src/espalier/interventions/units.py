"""Which rules fired where: mostly none, so only those that did are held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from espalier.errors import ProgramError
from espalier.language import Program
from espalier.results import Described

if TYPE_CHECKING:
    import pandas

# Numbers that `dense` writes out at most.
MOST = 1 << 27


@dataclass(frozen=True, repr=False)
class Units(Described):
    """The units of the rules, resets of heads aside: `value[k]` is that of `rule[k]`.

    Rules are numbered as in the program. All that are not listed are 0.
    """

    program: Program
    shape: tuple[int, int, int]  # layers and the start, positions, rules
    layer: NDArray[np.int64]
    position: NDArray[np.int64]
    rule: NDArray[np.int64]
    value: NDArray[np.float64]

    def at(self, layer: int, position: int) -> dict[int, float]:
        """By number, the rules that fired in a layer at a position, and the value of each unit."""
        here = (self.layer == layer) & (self.position == position)
        return dict(zip(self.rule[here].tolist(), self.value[here].tolist(), strict=True))

    def label(self, rule: int) -> str:
        """The rule as its unit's label has it."""
        return str(self.program.rules[rule])

    def dense(self) -> NDArray[np.float64]:
        """Layer x position x rule, zeros included."""
        if np.prod(self.shape, dtype=np.float64) > MOST:
            raise ProgramError(
                f"{' x '.join(f'{size:,}' for size in self.shape)} units are too many to write "
                "out; take them place by place with at(layer, position), or as to_frame()"
            )
        found = np.zeros(self.shape)
        found[self.layer, self.position, self.rule] = self.value
        return found

    def to_frame(self) -> pandas.DataFrame:
        """One row for each rule that fired: layer, position, rule, its label and the unit."""
        import pandas as pd

        return pd.DataFrame(
            {
                "layer": self.layer,
                "position": self.position,
                "rule": self.rule,
                "label": [self.label(number) for number in self.rule.tolist()],
                "unit": self.value,
            }
        )
