"""What may go wrong first in a realistic network: a head, a unit, a boundary, an output."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from espalier.compiler.layout import Layout, averages
from espalier.compiler.numbers import most_selected
from espalier.compiler.realism.errors import Errors, Selection, Stream
from espalier.compiler.realism.readers import outputs, reader, thresholds, unit_slack, units
from espalier.language import Categorical, SetValued
from espalier.nets.compiled import Weights


@dataclass(frozen=True)
class Shortfall:
    """Something that may be off by more than it bears, and what makes it so."""

    culprit: str
    error: float
    slack: float
    parts: dict[str, float]

    @property
    def ratio(self) -> float:
        """How many times too much."""
        return self.error / max(self.slack, 1e-12)

    def __str__(self) -> str:
        shown = ", ".join(f"{part:.2g} {why}" for why, part in self.parts.items() if part > 0)
        of = f" ({shown})" if shown else ""
        return f"{self.culprit} may be off by {self.error:.2g}{of} and bears {self.slack:.2g}"


class Bounds:
    """Bounds of all errors of one network."""

    def __init__(self, layout: Layout, weights: Weights, clean: Weights) -> None:
        self._layout, self._weights, self._clean = layout, weights, clean
        self._stream = Stream(layout, weights, clean)
        measure = self._stream.errors
        self._heads = []
        for made, ideal in zip(weights.heads, clean.heads, strict=True):
            pairs = ((made.query, ideal.query), (made.key, ideal.key), (made.value, ideal.value))
            rows = [reader([""] * one.shape[0], one, other, layout) for one, other in pairs]
            self._heads.append([measure(one, within=False) for one in rows])
        self._matches = [self._stream.match(place) for place in range(len(layout.program.heads))]
        self._units = measure(units(layout, weights, clean))
        self._outputs = [measure(one) for one in outputs(layout, weights, clean)]
        found = thresholds(layout, weights, clean)
        self._thresholds = None if found is None else (measure(found[0]), found[1])

    def shortfall(self, layers: int) -> Shortfall | None:
        """What may go wrong in the first `layers` layers, the worst of it, if anything."""
        heads, wrong = [], []
        for place in range(len(self._heads)):
            selection, fault = self._selection(place, layers)
            heads.append(selection)
            wrong += fault
        if not wrong:
            noise = {"from noise in its features": self._feature_noise()}
            wrong += _worst(self._units, self._units.parts(layers, heads) | noise)
            for one in self._outputs:
                wrong += _worst(one, one.parts(layers, heads), self._uneven(heads))
            wrong += self._expanded(layers, heads)
        return max(wrong, key=lambda one: one.ratio, default=None)

    def _selection(self, place: int, layers: int) -> tuple[Selection, list[Shortfall]]:
        """How well a head separates what it should select from the rest."""
        query, key, value = (one.total(layers, []) for one in self._heads[place])
        program, layout = self._layout.program, self._layout
        if place >= len(program.heads):  # what a distractor selects does not matter
            return Selection(0.0, 0.0), []
        name, head = list(program.heads.items())[place]
        sharpness = 2 * self._clean.heads[place].sink
        spec = None if head.query is None else program.specs[head.query]
        asked = max(map(len, spec.values)) if isinstance(spec, SetValued) else 1
        logit = _off_by(query, key, sharpness, asked)
        if not self._stream.is_noisy:
            # What the state contributes to both is bounded jointly, more tightly than to each.
            asking, asked_for = (one.drift(layers) for one in self._heads[place][:2])
            most = sharpness + float(query.max())
            drift = _off_by(asking, asked_for, most, len(key))
            logit = min(logit, self._matches[place] + drift)
        places = most_selected(program, head, layout.positions) or 1
        slack = sharpness / 2 - math.log(places + 1)
        if logit >= slack:
            part = {"from what query and key read": logit} if logit else {}
            return Selection(1.0, logit), [
                Shortfall(f"the logits of head {name!r}", logit, slack, part)
            ]
        mean = self._weights.heads[place].mean
        if mean is None:
            return Selection(self._seen((places + 1) * math.exp(logit - sharpness / 2)), logit), []
        leak = self._seen(places * math.exp(min(2 * logit - sharpness, 0.0)))
        held = [
            number / float(layout.formats[head.value].parts.factor)
            for number in program.held[head.value]
        ]
        unit = 1.0 if mean.base is None else layout.formats[name].parts.units[-1]
        most, wide = max(map(abs, held)) / unit, (max(held) - min(held)) / unit
        off = float(value[:-1].max() + 2 * most * value[-1])
        # Weights that differ by a factor of exp(2 logit) at most move a mean by no more than this.
        off += wide * (math.tanh(logit) / 2 + leak)
        return Selection(leak, logit, off + 2 * (mean.base is not None and off > 0)), []

    def _seen(self, leak: float) -> float:
        """A weight as the softmax has it, which rounds what is too small to 0."""
        dtype = torch.promote_types(self._weights.token_embedding.dtype, torch.float32)
        return leak if leak >= torch.finfo(dtype).tiny * 1e-7 else 0.0

    def _expanded(self, layers: int, heads: list[Selection]) -> list[Shortfall]:
        """What may go wrong between the stream and the features that rules read."""
        mine, ideal = self._weights.feedforward.expansion, self._clean.feedforward.expansion
        if mine is None or ideal is None:
            return []
        if self._thresholds is None:
            if all(found.leak == 0.0 for found in heads):
                return []
            return [Shortfall("a number in several parts", max(h.leak for h in heads), 0.0, {})]
        found, copies = self._thresholds
        parts = found.parts(layers, heads)
        rows = found.reader.actual.norm(dim=1)
        parts["from rounding"] = parts["from rounding"] + 4 * self._stream.rounding * rows * ~copies
        wrong = _worst(found, parts)
        passed = torch.where(copies, torch.stack(list(parts.values())).sum(0), 0.0)
        outer = mine.outer.dense().double()
        off = outer - ideal.outer.dense().double()
        error = outer.abs() @ passed
        error += torch.maximum(off.clamp(min=0).sum(1), -off.clamp(max=0).sum(1))
        layout = self._layout
        assert layout.realism is not None
        for name, start in layout.expanded.items():
            head = layout.program.heads.get(name)
            if isinstance(layout.program.specs[name], Categorical) and head is not None:
                uneven = -math.expm1(-2 * heads[list(layout.program.heads).index(name)].logit)
                rounded = 4 * (layout.positions or 1) * self._stream.rounding
                places = slice(start, start + len(layout.program.specs[name].values))
                error[places] += (uneven + rounded) / layout.realism.ramp
        for place in (error > unit_slack(layout)).nonzero().flatten().tolist()[:1]:
            place = int(error.argmax())
            label = f"the feature {layout.feature_labels[layout.width + place]!r}"
            wrong.append(Shortfall(label, float(error[place]), unit_slack(layout), {}))
        return wrong

    def _uneven(self, heads: list[Selection]) -> Tensor:
        """How much nearer to agreement an average may come because its weights are not equal."""
        layout, found = self._layout, torch.zeros(self._layout.width, dtype=torch.float64)
        for (name, head), one in zip(layout.program.heads.items(), heads, strict=False):
            if averages(layout.program, head) and name not in layout.flags:
                uneven = -math.expm1(-2 * one.logit) / (layout.positions or 1)
                found[layout.dimensions(name)] = uneven
        return found

    def _feature_noise(self) -> Tensor:
        """How far off units are by noise in the weights of features."""
        layout = self._layout
        mine = self._weights.feedforward.w1.dense().double()[:, layout.stream_width :]
        off = mine - self._clean.feedforward.w1.dense().double()[:, layout.width :]
        found = torch.zeros(len(off), dtype=torch.float64)
        for name, start in layout.expanded.items():
            found += off[:, start : start + len(layout.program.specs[name].values)].abs().amax(1)
        return found


def _off_by(query: Tensor, key: Tensor, size: float, asked: int) -> float:
    """How far off a logit is whose query, of this size in `asked` places, and key are off."""
    found = size * float(key.topk(min(asked, len(key))).values.sum())
    return found + float(query.max() + (query * key).sum())


def _worst(
    measured: Errors, parts: dict[str, Tensor], uneven: Tensor | None = None
) -> list[Shortfall]:
    """The row of a reader that is off by the most times what it bears, if that is too much."""
    error = torch.stack(list(parts.values())).sum(0)
    if uneven is not None and len(uneven) == len(error):
        error = error + uneven
    slack = measured.reader.slack
    ratio = torch.where(error > slack, error / slack.clamp(min=1e-12), 0.0)
    if not bool(ratio.any()):
        return []
    worst = int(ratio.argmax())
    shares = {why: float(part[worst]) for why, part in parts.items()}
    name = measured.reader.names[worst]
    return [Shortfall(name, float(error[worst]), float(slack[worst]), shares)]
