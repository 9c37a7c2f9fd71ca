"""The weights under interventions: a plan carried out on the stream, the logits and the units.

Values are read by `decode` and written by `overwrite`; dimensions are known only there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from espalier.compiler.decoding import NOT_A_VALUE, Column, decode, is_exact
from espalier.compiler.encoding import overwrite
from espalier.compiler.feedforward import units_of_rules
from espalier.compiler.layout import Layout
from espalier.errors import ModelError
from espalier.interventions import Plan, Rows, Sublayer
from espalier.language import Categorical, Numerical
from espalier.nets.compiled import MLP, CompiledEncoder, Probe, Silenced
from espalier.shapes import Residual, Valid

# A number that was set is there already if it is as near as this.
CLOSE = 1e-6


class Intervener(Probe):
    """Carries out a plan on the rows of a batch, which are the inputs `numbers`."""

    def __init__(
        self, layout: Layout, encoder: CompiledEncoder, plan: Plan, numbers: Sequence[int]
    ) -> None:
        self.layout, self.encoder, self.plan, self.last = layout, encoder, plan, plan.last
        self.numbers, self.touched = list(numbers), np.zeros(len(plan.owners), dtype=bool)
        self._row = np.full(len(plan.lists), -1)
        self._row[list(numbers)] = np.arange(len(numbers))
        self._valid = torch.zeros(0, 0, dtype=torch.bool)
        # Heads that select one position at most, unless what they match has been changed.
        written = {name for names in plan.writes.values() for name in names}
        written |= {one.variable for ones in plan.means.values() for one in ones}
        self._single = [
            name
            for name, head in layout.program.heads.items()
            if head.key in written and is_exact(layout, name)
        ]
        self._set_heads: set[str] = set()

    def embedded(self, z: Residual, valid: Valid) -> Residual:
        """The stream at the start, with what is set there."""
        self._valid = valid
        return self._write(0, "mlp", z, torch.ones_like(valid[:, 0]))

    def cuts(self, layer: int, z: Residual, resting: Valid) -> Mapping[str, Tensor] | None:
        """The edges that are cut in this layer."""
        found = {}
        for name, rows in self.plan.cuts_at(layer).items():
            inside = rows.what < self._valid.shape[1]
            rows, row = self._here(rows.take(inside), self._valid[:, 0])
            shape = (*self._valid.shape, self._valid.shape[1])
            every, mask = rows.what < 0, torch.zeros(shape, dtype=torch.bool, device=z.device)
            mask[row[every], rows.position[every]] = True
            mask[row[~every], rows.position[~every], rows.what[~every]] = True
            found[name] = mask
            pattern = self.encoder.attention.head(name).pattern(z, self._valid)
            selected = (pattern > 0.5 / pattern.shape[-1]) & ~resting[:, :, None]
            met = selected.cpu().numpy()[row, rows.position]
            whole = np.where(every, met.any(-1), met[np.arange(len(met)), rows.what])
            self.touched[rows.owner[whole]] = True
        return found or None

    def attended(self, layer: int, z: Residual, running: Tensor, resting: Valid) -> Residual:
        """The stream after attention, with what is set there."""
        for name in self._single:
            z = self._agreed(z, name)
        return self._write(layer, "attention", z, running)

    def silenced(self, layer: int, z: Residual, resting: Valid) -> Silenced | None:
        """The units of the rules that are knocked out in this layer."""
        rows = self.plan.knocked_at(layer)
        if rows is None:
            return None
        if not isinstance(self.encoder.mlp, MLP):
            raise ModelError("a rule is a unit of the compiled MLP, which was replaced here")
        rows, row = self._here(rows, self._valid[:, 0])
        units = self.encoder.mlp.units(z)[row, rows.position, rows.what]
        fired = (units > 0.5).cpu().numpy() & ~resting.cpu().numpy()[row, rows.position]
        self.touched[rows.owner[fired]] = True
        units_of, count = self._rule_units, np.asarray([len(some) for some in self._rule_units])
        counts = count[rows.what.astype(np.int64)]
        found = [unit for rule in rows.what.tolist() for unit in units_of[rule]]
        places = np.repeat(row, counts), np.repeat(rows.position, counts), np.asarray(found)
        at, position, unit = (torch.from_numpy(some.astype(np.int64)) for some in places)
        return at.to(z.device), position.to(z.device), unit.to(z.device)

    @cached_property
    def _rule_units(self) -> list[list[int]]:
        return units_of_rules(self.layout)

    def updated(self, layer: int, z: Residual, running: Tensor, resting: Valid) -> Residual:
        """The stream after the MLP, with what is set there."""
        for name in self._set_heads:
            # The MLP, which clears heads, is not run where a position rests.
            if bool(resting.any()):
                z = z.clone()
                z[resting] = overwrite(self.layout, z[resting], name, self._nulls(resting, name))
        return self._write(layer, "mlp", z, running)

    def _write(self, layer: int, sublayer: Sublayer, z: Residual, running: Tensor) -> Residual:
        def look(number: int, name: str, positions: Sequence[int]) -> Sequence[float]:
            there = z[self._row[number], list(positions)]
            codes: Sequence[float] = self._decode(there, name).tolist()
            return codes

        going = {n for n, row in enumerate(self._row.tolist()) if row >= 0 and bool(running[row])}
        changes = self.plan.writes_at(layer, sublayer, look, going)
        if sublayer == "attention":
            self._set_heads = changes.keys() & self.layout.program.heads.keys()
        written = z.clone() if changes else z
        for name, rows in changes.items():
            rows, row = self._here(rows, running)
            if not len(row):
                continue
            old = self._decode(z[row, rows.position], name)
            places = row * z.shape[1] + rows.position
            self.touched[rows.owner[_differ(rows.found(places, old), rows.what)]] = True
            # Of several at one place the last counts.
            _, last = np.unique(places[::-1], return_index=True)
            last = len(places) - 1 - last
            at = row[last], rows.position[last]
            column = rows.what[last]
            written[at] = overwrite(self.layout, written[at], name, column)
        return written

    def _here(self, rows: Rows, running: Tensor) -> tuple[Rows, NDArray[np.int64]]:
        """The rows that concern this batch, and where in it they lie."""
        row, alive = self._row[rows.input], running.cpu().numpy()
        lengths = self._valid.sum(-1).cpu().numpy()
        inside = (row >= 0) & alive[row] & (rows.position >= 0) & (rows.position < lengths[row])
        return rows.take(inside), row[inside]

    def _agreed(self, z: Residual, name: str) -> Residual:
        """Null where a head that was compiled to select one position has averaged several."""
        assert isinstance(self.layout.program.specs[name], Categorical)
        flat = z[self._valid]
        mixed = decode(self.layout, flat, [name])[name] == NOT_A_VALUE
        if not mixed.any():
            return z
        flat[mixed] = overwrite(self.layout, flat[mixed], name, np.full(mixed.sum(), -1))
        z = z.clone()
        z[self._valid] = flat
        return z

    def _decode(self, z: Tensor, name: str) -> Column:
        return decode(self.layout, z, [name], changed=True)[name]

    def _nulls(self, where: Valid, name: str) -> NDArray[np.float64]:
        is_number = isinstance(self.layout.program.specs[name], Numerical)
        return np.full(int(where.sum()), np.nan if is_number else -1)


class LastPositions(Intervener):
    """Counts the layers that the last position of each row takes until it rests."""

    @cached_property
    def layers(self) -> NDArray[np.int64]:
        """For each row."""
        return np.zeros(len(self.numbers), dtype=np.int64)

    def attended(self, layer: int, z: Residual, running: Tensor, resting: Valid) -> Residual:
        """The stream after attention, counted."""
        last = self._valid.sum(-1) - 1
        rests = resting[torch.arange(len(last), device=last.device), last]
        self.layers[:] += (running & ~rests).cpu().numpy()
        return super().attended(layer, z, running, resting)


def _differ(old: Column, new: Column) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        near = np.abs(old - new) <= CLOSE * np.maximum(1, np.abs(new))
    return ~(near | (np.isnan(old) & np.isnan(new)))
