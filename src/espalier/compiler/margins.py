"""How far each dial of realism can be turned before an output changes, and what fails first.

A dial is turned with the others left as they are, its range halved until the last setting that is
right and the first that is wrong are near each other; outputs and numbers of layers are compared
with those of the clean network, which are the interpreter's. That a setting between the two ends
is right too is assumed; `verify` checks any one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from espalier.compiler.basis import Realism
from espalier.compiler.batches import pad
from espalier.compiler.compile import compile_program
from espalier.compiler.decoding import decode
from espalier.compiler.model import CompiledModel
from espalier.errors import CompileError, EspalierError, check_kind
from espalier.language import Program, Run, check_batch, check_layers
from espalier.nets.compiled import MLP, hold
from espalier.results import Result

if TYPE_CHECKING:
    import pandas

# Halvings of a range of numbers; a setting is found to a tenth of itself or better.
HALVINGS = 7
SEEDS = 3
MOST_DISTRACTORS = 16


@dataclass(frozen=True)
class Dial:
    """The range of one dial: `right` is the last setting found right, `wrong` the first wrong.

    `wrong` is None where nothing within reach is wrong, `right` where nothing is right;
    `culprit` is what differs first at `wrong`.
    """

    name: str
    right: float | None
    wrong: float | None
    culprit: str = ""


@dataclass(frozen=True, repr=False)
class Margins(Result):
    """How far each dial can be turned on the given inputs, the others being as in `realism`.

    >>> Margins(Realism(), 1, (Dial("sharpness", 10.0, 5.0, "head 'x'"),))["sharpness"].right
    10.0
    """

    realism: Realism
    inputs: int
    dials: tuple[Dial, ...]

    def __getitem__(self, name: str) -> Dial:
        return next(dial for dial in self.dials if dial.name == name)

    def to_frame(self) -> pandas.DataFrame:
        """One row per dial."""
        import pandas as pd

        rows = [(dial.name, dial.right, dial.wrong, dial.culprit) for dial in self.dials]
        return pd.DataFrame(rows, columns=["dial", "right", "wrong", "culprit"])


def margins(
    program: Program | CompiledModel,
    inputs: Iterable[Iterable[object]],
    *,
    realism: Realism | None = None,
    max_layers: int | None = None,
    dtype: torch.dtype = torch.float32,
) -> Margins:
    """How far each dial can be turned before an output on `inputs` changes, and what fails first.

    Dials are turned one by one, from `realism`: by default a plain one, or that of a model.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> found = margins(entry.program, [entry.encode("101"), entry.encode("0111")])
    >>> found["rotation"].wrong is None and found["sharpness"].right < 20
    True
    """
    if isinstance(program, CompiledModel):
        realism, dtype = realism or program.realism, program.dtype
        program = program.program
    realism = Realism() if realism is None else realism
    check_kind("realism", realism, Realism, error=CompileError)
    start = replace(realism, proven=False)
    layers, batch = check_layers(program, max_layers), check_batch(program, inputs)
    trial = _Trial(program, batch, start, layers, dtype)
    return Margins(start, len(batch), tuple(trial.dials()))


class _Trial:
    """Compiles settings and compares what they answer with what a clean network does."""

    def __init__(
        self,
        program: Program,
        batch: Sequence[Sequence[int]],
        start: Realism,
        layers: int | None,
        dtype: torch.dtype,
    ) -> None:
        self._program, self._batch, self._start, self._dtype = program, batch, start, dtype
        self._layers, self._clean = layers, compile_program(program, dtype=dtype)
        self._expected = list(self._clean.run_many(batch, max_layers=layers))
        # One layer more than any needs: enough to see one that halts late.
        deepest = max((run.layers for run in self._expected), default=0)
        self._most = deepest + 1 if layers is None else min(layers, deepest + 1)

    def dials(self) -> list[Dial]:
        usual = compile_program(self._program, dtype=self._dtype).weights.heads
        found = []
        if usual:
            highest = 2 * usual[0].sink
            found.append(self._halve("sharpness", self._start.sharpness or highest, 2.0**-4))
        # At 1, and no further, a slope can cover its gap without a leak.
        is_tight = self._start.ramp < 1 and self._is_right(ramp=1.0)
        found.append(self._halve("ramp", 1.0 if is_tight else self._start.ramp, 2.0**6))
        found.append(self._seeds())
        found.append(self._width())
        counts = [self._start.distractors + 1, self._start.distractors + MOST_DISTRACTORS]
        wrong = [count for count in counts if not self._is_right(distractors=count)]
        found.append(self._dial("distractors", max({*counts} - {*wrong}, default=None), wrong))
        found.append(self._halve("noise", self._start.noise or 2.0**-24, 1.0))
        return found

    def _dial(self, name: str, right: float | None, wrong: Sequence[float]) -> Dial:
        if not wrong:
            return Dial(name, right, None)
        return Dial(name, right, wrong[0], self._culprit(**{name: wrong[0]}))

    def _halve(self, name: str, start: float, end: float) -> Dial:
        """The last right setting on the way from `start` to `end`, in factors."""
        if self._is_right(**{name: end}):
            return Dial(name, end, None)
        if not self._is_right(**{name: start}):
            return self._dial(name, None, [start])
        right, wrong = math.log(start), math.log(end)
        for _ in range(HALVINGS):
            middle = (right + wrong) / 2
            if self._is_right(**{name: math.exp(middle)}):
                right = middle
            else:
                wrong = middle
        return self._dial(name, math.exp(right), [math.exp(wrong)])

    def _seeds(self) -> Dial:
        wrong = [seed for seed in range(SEEDS) if not self._is_right(rotation=seed)]
        return self._dial("rotation", None if len(wrong) == SEEDS else SEEDS - len(wrong), wrong)

    def _width(self) -> Dial:
        """The smallest width that is right."""
        right, wrong = self._clean.layout.width + self._start.distractors, 0
        if not self._is_right(width=right):
            return self._dial("width", None, [right])
        while right - wrong > 1:
            middle = (right + wrong) // 2
            if self._is_right(width=middle):
                right = middle
            else:
                wrong = middle
        return self._dial("width", right, [wrong] if wrong else [])

    def _compiled(self, **dials: float) -> CompiledModel:
        realism = replace(self._start, **dials)  # type: ignore[arg-type]
        return compile_program(self._program, dtype=self._dtype, realism=realism)

    def _is_right(self, **dials: float) -> bool:
        try:
            runs = self._compiled(**dials).run_many(self._batch, max_layers=self._most)
        except EspalierError:
            return False
        return all(map(_same, runs, self._expected))

    @torch.inference_mode()
    def _culprit(self, **dials: float) -> str:
        """What differs first from the clean network, on the first wrong input."""
        try:
            model = self._compiled(**dials)
        except CompileError as error:
            return str(error)
        runs = model.run_many(self._batch, max_layers=self._most)
        pairs = enumerate(zip(runs, self._expected, strict=True))
        number = next((place for place, pair in pairs if not _same(*pair)), 0)
        return first_difference(self._clean, model, self._batch[number], self._most)


def _same(one: Run, other: Run) -> bool:
    return one.layers == other.layers and list(one.outputs) == list(other.outputs)


def first_difference(
    clean: CompiledModel, model: CompiledModel, tokens: Sequence[int], layers: int
) -> str:
    """The first variable of `model` that does not decode to what `clean` holds, and its cause."""
    ids, _ = pad([tokens], model.device)
    valid = torch.ones_like(ids, dtype=torch.bool)
    both = [one.encoder.embed(ids) for one in (clean, model)]
    found = _differs(clean, model, both)
    if found:
        return f"the embedding of {found[0]!r} at position {found[1]}"
    for layer in range(layers):
        attended, after = [], []
        for one, z in zip((clean, model), both, strict=True):
            resting = one.encoder.resting(z, layer)
            attended.append(hold(resting, z, z + one.encoder.attention(z, valid)))
            after.append(hold(resting, z, attended[-1] + one.encoder.mlp(attended[-1])))
        found = _differs(clean, model, attended)
        if found:
            what = "head" if found[0] in clean.program.heads else "what is left of"
            return f"{what} {found[0]!r} at position {found[1]} in layer {layer + 1}"
        found = _differs(clean, model, after)
        if found:
            unit = _unit(clean, model, attended, *found)
            return f"{unit} at position {found[1]} in layer {layer + 1}"
        both = after
    return "the output, which decodes rightly within one half" if layers else ""


def _differs(
    clean: CompiledModel, model: CompiledModel, streams: list[Tensor]
) -> tuple[str, int] | None:
    """A variable that decodes differently, and where."""
    ours, theirs = (
        decode(one.layout, z[0]) for one, z in zip((clean, model), streams, strict=True)
    )
    for name, column in ours.items():
        spec = clean.program.specs[name]
        if column.dtype == np.float64:
            cuts = np.asarray(spec.boundaries)  # type: ignore[union-attr]
            same = np.searchsorted(cuts, column) == np.searchsorted(cuts, theirs[name])
            same &= np.isnan(column) == np.isnan(theirs[name])
        else:
            same = column == theirs[name]
        if not same.all():
            return name, int(np.flatnonzero(~same)[0])
    return None


def _unit(
    clean: CompiledModel, model: CompiledModel, streams: list[Tensor], name: str, place: int
) -> str:
    """The boundary or the rule that is most wrong where `name` came out wrong."""
    active: list[tuple[Tensor | None, Tensor]] = []
    for one, z in zip((clean, model), streams, strict=True):
        mlp, row = one.encoder.mlp, z[0, place]
        assert isinstance(mlp, MLP)
        features = None if mlp.expansion is None else mlp.expansion(row).to(row.dtype)
        seen = row if features is None else torch.cat([row, features])
        active.append((features, mlp.first(seen).clamp(0, 1)))
    (ours, fired), (theirs, found) = active
    if ours is not None and theirs is not None and bool(((ours - theirs).abs() > 0.5).any()):
        feature = int((ours - theirs).abs().argmax())
        return f"the threshold of {clean.layout.feature_labels[clean.layout.width + feature]!r}"
    rules = [n for n, rule in enumerate(clean.program.rules) if rule.output == name]
    off = (fired[rules] - found[rules]).abs()
    return f"rule [{clean.program.rules[rules[int(off.argmax())]]}]" if rules else f"{name!r}"
