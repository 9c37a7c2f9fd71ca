"""What a run of the weights went through: the stream, its variables, attention and the rules.

The names are those of a trace's cache, so that both can be compared. Everything that is
indexed by layer begins with layer 0, the start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from espalier.compiler.decoding import decode
from espalier.compiler.interventions import Intervener
from espalier.compiler.layout import Layout
from espalier.errors import ModelError, ProgramError, nearest
from espalier.interventions import Sublayer, Units
from espalier.language import Numerical
from espalier.nets.compiled import MLP, Silenced
from espalier.results import Described
from espalier.shapes import Residual, Valid

# Numbers that the caches of a batch may hold: a gigabyte of float32.
MOST = 1 << 28


@dataclass(frozen=True, repr=False, eq=False)
class RunCache(Described):
    """All that one sequence went through; `streams` has the start and then every sub-layer."""

    layout: Layout
    streams: tuple[Tensor, ...]
    edges: Mapping[str, NDArray[np.float64]]
    units: Units

    def residual(self, layer: int, sublayer: Sublayer = "mlp") -> Tensor:
        """The stream after a sub-layer, position by dimension."""
        lowest, last = 0 if sublayer == "mlp" else 1, len(self.streams) // 2
        if sublayer not in ("attention", "mlp") or not lowest <= layer <= last:
            raise ProgramError(
                f"layer {layer} after {sublayer!r} is outside this run: it has {lowest}..{last}, "
                "after 'attention' or 'mlp'"
            )
        return self.streams[2 * layer - (sublayer == "attention")]

    def variable(self, name: str, sublayer: Sublayer = "mlp") -> NDArray[Any]:
        """The values of a variable, layer by position, as the stream encodes them; None is null.

        After "attention" too, row 0 is the start. What encodes no value is -2, or infinity.
        """
        specs = self.layout.program.specs
        if name not in specs:
            raise ProgramError(f"there is no variable {name!r}; {nearest(name, specs)}")
        layers = range(1, len(self.streams) // 2 + 1)
        chosen = [self.streams[0], *(self.residual(layer, sublayer) for layer in layers)]
        codes = decode(self.layout, torch.cat(chosen), [name], changed=True)[name]
        found = np.empty(len(codes), dtype=object)
        if isinstance(specs[name], Numerical):
            found[:] = [None if np.isnan(code) else code for code in codes.tolist()]
        else:
            found[:] = [_value(specs[name].values, code) for code in codes.tolist()]
        return found.reshape(len(chosen), -1)

    def attention(self, head: str) -> NDArray[np.float64]:
        """Layer x query x key: how much a query attends to a key, 1 over their number.

        What is missing to 1 goes to the sink. Layer 0 has none, nor has a position that rests.
        """
        if head not in self.edges:
            raise ProgramError(f"there is no head {head!r}; {nearest(head, self.edges)}")
        length = len(self.streams[0])
        found = np.zeros((len(self.streams) // 2 + 1, length, length))
        layer, query, key = self.edges[head][:, :3].astype(np.int64).T
        found[layer, query, key] = self.edges[head][:, 3]
        return found


class Recorder(Intervener):
    """Records what the rows of a batch go through, the interventions of a plan included."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._streams: list[Tensor] = []
        self._edges: dict[str, list[NDArray[np.float64]]] = {
            name: [] for name in self.layout.head_names
        }
        self._units: list[NDArray[np.float64]] = []
        self._held = 0

    def embedded(self, z: Residual, valid: Valid) -> Residual:
        """The stream at the start, recorded."""
        return self._keep(super().embedded(z, valid))

    def cuts(self, layer: int, z: Residual, resting: Valid) -> Mapping[str, Tensor] | None:
        """The edges that are cut; those that are selected are recorded."""
        cuts = super().cuts(layer, z, resting)
        for name in self.layout.head_names:
            cut = None if cuts is None else cuts.get(name)
            weights = self.encoder.attention.head(name).pattern(z, self._valid, cut)
            total = weights.sum(-1, keepdim=True)
            # Of a head that averages numbers these are counts.
            weights = weights / torch.where(total > 1, total, 1.0)
            weights = weights * (self._valid & ~resting)[:, :, None]
            self._edges[name].append(self._entries(weights, layer))
        return cuts

    def attended(self, layer: int, z: Residual, running: Tensor, resting: Valid) -> Residual:
        """The stream after attention, recorded."""
        return self._keep(super().attended(layer, z, running, resting))

    def silenced(self, layer: int, z: Residual, resting: Valid) -> Silenced | None:
        """The units that are knocked out; those that are not are recorded."""
        silenced = super().silenced(layer, z, resting)
        if isinstance(self.encoder.mlp, MLP):
            units = self.encoder.mlp.units(z)[..., : len(self.layout.program.rules)]
            units = units * (self._valid & ~resting)[:, :, None]
            if silenced is not None:
                rules = silenced[2] < units.shape[-1]
                units[tuple(place[rules] for place in silenced)] = 0
            self._units.append(self._entries(units, layer))
        return silenced

    def updated(self, layer: int, z: Residual, running: Tensor, resting: Valid) -> Residual:
        """The stream after the MLP, recorded."""
        return self._keep(super().updated(layer, z, running, resting))

    def cache(self, row: int, layers: int) -> RunCache:
        """What one row went through."""
        length, program = int(self._valid[row].sum()), self.layout.program
        found = _of_row(self._units, row, layers)
        resets = [number for number, rule in enumerate(program.rules) if rule.is_reset]
        found = found[~np.isin(found[:, 2], resets)]
        shape = (layers + 1, length, len(program.rules))
        layer, position, rule = found[:, :3].astype(np.int64).T
        units = Units(program, shape, layer, position, rule, found[:, 3])
        edges = {name: _of_row(parts, row, layers) for name, parts in self._edges.items()}
        streams = self._streams[: 2 * layers + 1]
        return RunCache(self.layout, tuple(z[row, :length] for z in streams), edges, units)

    def _entries(self, found: Tensor, layer: int) -> NDArray[np.float64]:
        """What is not 0, one line each: row, layer, two places and the value."""
        places = found.nonzero()
        values = found[tuple(places.T)].double().cpu().numpy()
        self._count(4 * len(values))
        row, one, other = places.cpu().numpy().T
        return np.stack([row, np.full(len(row), layer), one, other, values], 1)

    def _keep(self, z: Residual) -> Residual:
        self._count(z.numel())
        self._streams.append(z.clone())
        return z

    def _count(self, numbers: int) -> None:
        self._held += numbers
        if self._held > MOST:
            raise ModelError(
                f"the cache of these runs would hold more than {MOST:,} numbers; give fewer inputs "
                "or a smaller max_layers, or keep what you need by forward hooks"
            )


def _of_row(parts: list[NDArray[np.float64]], row: int, layers: int) -> NDArray[np.float64]:
    whole = np.concatenate([np.zeros((0, 5)), *parts])
    return whole[(whole[:, 0] == row) & (whole[:, 1] <= layers), 1:]


def _value(values: tuple[Any, ...], code: int) -> Any:
    return code if code < -1 else None if code < 0 else values[code]
