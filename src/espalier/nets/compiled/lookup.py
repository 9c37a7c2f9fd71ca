"""The units of a wide MLP that are on, found by look-up instead of being computed one by one.

Where every group of columns (a variable's one-hot) holds a single 1 or nothing, a rule's unit is 1
if each of its atoms holds and 0 otherwise. The units that read the same groups are then a table
from the groups' codes, read as the digits of one number, to the unit. What is found is exactly
what the matrices give: ones are added up, which no order rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from espalier.nets.compiled.weights import FeedForwardWeights, Sparse

# Units over the same groups are looked up if there are so many; fewer are computed as fast.
FEWEST = 64
# A unit that holds for more assignments of its groups than this is computed.
MOST_KEYS = 64
# Keys fit into 64 bits.
LARGEST_KEY = 1 << 62

Codes = Int[Tensor, "P G"]


class UnitTable(nn.Module):
    """Units that read the same groups: the key of each assignment that turns one on, sorted."""

    groups: Tensor
    radix: Tensor
    keys: Tensor
    units: Tensor

    def __init__(self, groups: Tensor, radix: Tensor, keys: Tensor, units: Tensor) -> None:
        super().__init__()
        for name, tensor in (("groups", groups), ("radix", radix), ("keys", keys)):
            self.register_buffer(name, tensor)
        self.register_buffer("units", units)

    def forward(self, codes: Codes) -> tuple[Int[Tensor, " H"], Int[Tensor, " H"]]:
        """The positions at which units are on, and those units."""
        read = codes[:, self.groups]
        key = (read * self.radix).sum(-1)
        key = key.masked_fill((read < 0).any(-1), -1)
        first = torch.searchsorted(self.keys, key)
        counts = torch.searchsorted(self.keys, key, right=True) - first
        hits = torch.arange(len(codes), device=codes.device).repeat_interleave(counts)
        return hits, self.units[ranges(first, counts)]


class Lookup(nn.Module):
    """The units that can be looked up, and what each adds to the residual stream."""

    columns: Tensor
    group_of: Tensor
    code_of: Tensor
    starts: Tensor
    dimensions: Tensor
    amounts: Tensor

    def __init__(
        self, tables: list[UnitTable], groups: Sequence[range], w2: Sparse, units: int
    ) -> None:
        super().__init__()
        self.tables, self.width, self.groups = nn.ModuleList(tables), w2.shape[0], len(groups)
        columns = torch.tensor([column for group in groups for column in group])
        owner = torch.tensor([g for g, group in enumerate(groups) for _ in group])
        code = torch.tensor([place for group in groups for place in range(len(group))])
        by_unit = torch.argsort(w2.columns, stable=True)
        starts = torch.searchsorted(w2.columns[by_unit], torch.arange(units + 1))
        for name, tensor in (
            ("columns", columns),
            ("group_of", owner),
            ("code_of", code),
            ("starts", starts),
            ("dimensions", w2.rows[by_unit]),
            ("amounts", w2.values[by_unit]),
        ):
            self.register_buffer(name, tensor)

    def read(self, seen: Float[Tensor, "P I"]) -> tuple[Codes, Bool[Tensor, " P"]]:
        """The code of every group, -1 where it is zero; and where no group holds anything else."""
        features = seen.index_select(-1, self.columns)
        rows, places = features.nonzero(as_tuple=True)
        groups = self.group_of[places]
        codes = torch.full((len(seen), self.groups), -1, device=seen.device)
        codes[rows, groups] = self.code_of[places]
        holds = torch.zeros_like(codes).index_put_(
            (rows, groups), torch.ones_like(rows), accumulate=True
        )
        is_exact = (holds <= 1).all(-1)
        is_exact[rows[features[rows, places] != 1]] = False
        return codes, is_exact

    def change(self, codes: Codes, dtype: torch.dtype) -> Float[Tensor, "P D"]:
        """What the units that are on add to every residual dimension."""
        flat = torch.zeros(len(codes) * self.width, dtype=dtype, device=codes.device)
        for table in self.tables:
            hits, units = table(codes)
            first = self.starts[units]
            counts = self.starts[units + 1] - first
            entries = ranges(first, counts)
            places = hits.repeat_interleave(counts) * self.width + self.dimensions[entries]
            flat.index_add_(0, places, self.amounts[entries].to(dtype))
        return flat.view(len(codes), self.width)


def look_up(
    weights: FeedForwardWeights, groups: Sequence[range]
) -> tuple[Lookup | None, FeedForwardWeights]:
    """The units that can be looked up, None if there are none, and the weights of the others.

    `groups` are the columns of W1 that hold one variable each, in rising order.
    """
    if not groups or not len(weights.w1.values):
        return None, weights
    units = len(weights.b1)
    is_open = torch.ones(units, dtype=torch.bool)  # not looked up
    tables = []
    for atoms in _by_signature(weights, groups):
        table = _table(atoms, groups)
        if table is not None:
            tables.append(table)
            is_open[atoms.units] = False
    if not tables:
        return None, weights
    return Lookup(tables, groups, weights.w2, units), _only(weights, is_open)


@dataclass(frozen=True)
class _Atoms:
    """Units that read the same groups, and the columns of each, sorted by unit and column."""

    groups: Tensor
    units: Tensor
    owners: Tensor  # for each entry, its unit's place in `units`
    places: Tensor  # and its group's place in `groups`
    columns: Tensor


def _by_signature(weights: FeedForwardWeights, groups: Sequence[range]) -> list[_Atoms]:
    """The units that rules make over whole ones, FEWEST or more over the same groups."""
    w1, units = weights.w1, len(weights.b1)
    group_of = torch.full((w1.shape[1],), -1)
    for number, columns in enumerate(groups):
        group_of[columns.start : columns.stop] = number
    group = group_of[w1.columns]
    fits = torch.bincount(w1.rows[(w1.values != 1) | (group < 0)], minlength=units) == 0
    fits &= _writes_ones(weights.w2)
    # Entries are sorted by column, so that those of one group follow each other.
    begins = torch.ones_like(w1.rows, dtype=torch.bool)
    begins[1:] = (w1.rows[1:] != w1.rows[:-1]) | (group[1:] != group[:-1])
    atoms = torch.bincount(w1.rows[begins], minlength=units)
    fits &= (weights.b1.double() == 1.0 - atoms) & (atoms > 0)
    allowed = torch.bincount(begins.cumsum(0) - 1).double().log2()
    keys = torch.bincount(w1.rows[begins], weights=allowed, minlength=units)
    fits &= keys < math.log2(MOST_KEYS) + 0.5
    found = []
    for count in atoms[fits].unique().tolist():
        chosen = (fits & (atoms == count)).nonzero()[:, 0]
        entries = torch.isin(w1.rows, chosen)
        heads = group[entries & begins].view(-1, count)
        signatures, which = heads.unique(dim=0, return_inverse=True)
        rows = torch.searchsorted(chosen, w1.rows[entries])
        place = begins[entries].cumsum(0) - 1 - rows * count
        for number in (torch.bincount(which) >= FEWEST).nonzero()[:, 0].tolist():
            mine = which[rows] == number
            owners = rows[mine].unique(return_inverse=True)[1]
            found.append(
                _Atoms(
                    signatures[number],
                    chosen[which == number],
                    owners,
                    place[mine],
                    w1.columns[entries][mine],
                )
            )
    return found


def _writes_ones(w2: Sparse) -> Tensor:
    """For each unit, whether it writes only dimensions that hold whole numbers."""
    rounds = torch.bincount(w2.rows[w2.values.abs() != 1], minlength=w2.shape[0]) > 0
    return torch.bincount(w2.columns[rounds[w2.rows]], minlength=w2.shape[1]) == 0


def _table(atoms: _Atoms, groups: Sequence[range]) -> UnitTable | None:
    """All assignments of the groups that turn a unit on; None where keys are too large."""
    sizes = [len(groups[g]) for g in atoms.groups.tolist()]
    allowed = torch.bincount(atoms.owners * len(sizes) + atoms.places).view(-1, len(sizes))
    if math.prod(sizes) > LARGEST_KEY:
        return None
    radix = [math.prod(sizes[place + 1 :]) for place in range(len(sizes))]
    first = torch.tensor([groups[g].start for g in atoms.groups.tolist()])
    codes = atoms.columns - first[atoms.places]
    starts = (allowed.flatten().cumsum(0) - allowed.flatten()).view_as(allowed)
    owner = torch.arange(len(atoms.units))
    keys = torch.zeros_like(owner)
    for place, weight in enumerate(radix):
        counts = allowed[owner, place]
        entries = ranges(starts[owner, place], counts)
        keys = keys.repeat_interleave(counts) + codes[entries] * weight
        owner = owner.repeat_interleave(counts)
    order = keys.argsort(stable=True)
    return UnitTable(atoms.groups, torch.tensor(radix), keys[order], atoms.units[owner[order]])


def ranges(first: Int[Tensor, " R"], counts: Int[Tensor, " R"]) -> Int[Tensor, " E"]:
    """`counts[r]` numbers from `first[r]` on, for one r after the other."""
    within = torch.arange(int(counts.sum()), device=first.device)
    within -= (counts.cumsum(0) - counts).repeat_interleave(counts)
    return first.repeat_interleave(counts) + within


def _only(weights: FeedForwardWeights, units: Bool[Tensor, " R"]) -> FeedForwardWeights:
    """The MLP with some of its units."""
    number = units.cumsum(0) - 1
    reads, writes = units[weights.w1.rows], units[weights.w2.columns]
    count = int(units.sum())
    return FeedForwardWeights(
        Sparse(
            (count, weights.w1.shape[1]),
            number[weights.w1.rows[reads]],
            weights.w1.columns[reads],
            weights.w1.values[reads],
        ),
        weights.b1[units],
        Sparse(
            (weights.w2.shape[0], count),
            weights.w2.rows[writes],
            number[weights.w2.columns[writes]],
            weights.w2.values[writes],
        ),
        weights.expansion,
    )
