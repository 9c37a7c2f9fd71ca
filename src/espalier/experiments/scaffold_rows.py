"""Rows of the scaffold experiments: a member of an ensemble (length, setting, rules, seed) each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from espalier.data import Reading
from espalier.errors import ConfigError
from espalier.experiments.cache import DOMAINS, RunCache
from espalier.experiments.experiment import Row, Scale
from espalier.experiments.network_contributions import contributions_of
from espalier.experiments.rule_contributions import Contributions
from espalier.experiments.scaffold_models import ScaffoldModels, familiarity, frequency
from espalier.runs import matmul_precision
from espalier.training import CloseProbability, LossReading, member_gradients

Label = dict[str, int | str]


@dataclass(frozen=True)
class OverEpochs:
    """Models that are measured after every epoch that is saved."""

    models: ScaffoldModels
    reading: Reading = "before close"

    @classmethod
    def at(cls, scale: Scale) -> OverEpochs:
        """The preset of a scale."""
        return cls(familiarity(scale))


@dataclass(frozen=True)
class GrowingFocus:
    """The models of one scaffold length, at a few epochs."""

    models: ScaffoldModels
    length: int = 8
    epochs: tuple[int, ...] = (5, 10, 20, 50)
    reading: Reading = "before close"

    def __post_init__(self) -> None:
        if self.length not in self.models.lengths:
            raise ConfigError(
                f"no model has scaffolds of length {self.length}; lengths: {self.models.lengths}"
            )

    @classmethod
    def at(cls, scale: Scale) -> GrowingFocus:
        """The preset of a scale."""
        settings: dict[Scale, Any] = {
            "paper": {},
            "small": {"epochs": (4, 8, 12, 16)},
            "smoke": {"epochs": (1, 2), "length": 4},
        }
        return cls(familiarity(scale), **settings[scale])


@dataclass(frozen=True)
class RuleFrequency:
    """Models with the usual number of rules and with others, measured after one epoch of both."""

    usual: ScaffoldModels
    others: ScaffoldModels
    epoch: int = 40

    @classmethod
    def at(cls, scale: Scale) -> RuleFrequency:
        """The preset of a scale."""
        others = frequency(scale)
        return cls(familiarity(scale), others, others.kept[-1])


@dataclass(frozen=True)
class Gradients:
    """The models, the epochs over which magnitudes are averaged, and how many sequences."""

    models: ScaffoldModels
    epochs: tuple[int, ...] = (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)
    sequences: int = 200
    reading: LossReading = "before close"

    @classmethod
    def at(cls, scale: Scale) -> Gradients:
        """The preset of a scale."""
        settings: dict[Scale, Any] = {
            "paper": {},
            "small": {"epochs": (4, 8, 12, 16)},
            "smoke": {"epochs": (1, 2), "sequences": 10},
        }
        return cls(familiarity(scale), **settings[scale])


def close_probabilities(config: OverEpochs, cache: RunCache) -> list[Row]:
    """P(close) by member, epoch and test set, the mean over test sequences."""
    names = ("length", "setting", "rules", "seed")
    if config.reading == "after close":
        return _after_close(config, cache)
    return [
        {name: row[name] for name in names}
        | {"epoch": int(row["epoch"]), "domain": domain, "probability": row[domain]}
        for row in cache.trained(config.models).metrics()
        for domain in DOMAINS
    ]


def _after_close(config: OverEpochs, cache: RunCache) -> list[Row]:
    """P(close) after the close symbol: of models that learnt the rule, that of a second one."""
    rows: list[Row] = []
    for epoch, group, weights, shape in cache.trained(config.models).walk(config.models.kept):
        measure = CloseProbability.of(
            {domain: group.examples(domain) for domain in DOMAINS},
            close=config.models.corpus.close,
            device=cache.here,
            reading=config.reading,
        )
        with matmul_precision("float32"):
            measured = measure(weights, shape)
        for domain in DOMAINS:
            values: list[Row] = [{"probability": row[domain]} for row in measured]
            rows += group.label(values, epoch=epoch, domain=domain)
    return rows


def from_open_symbol(config: OverEpochs, cache: RunCache) -> list[Row]:
    """P(close | open symbol alone) by member, epoch and test set.

    It is softmax(W h), h being the open symbol's contribution to the hidden state at the last
    scaffold token.
    """

    def of(rules: Contributions) -> Iterator[tuple[Label, list[Row]]]:
        yield {}, [{"probability": p} for p in rules.close_probability([0])]

    return _over_rules(config, config.models.kept, cache, of)


def from_growing_focus(config: GrowingFocus, cache: RunCache) -> list[Row]:
    """P(close | open symbol and the first i scaffold tokens): all of the rule where i = k.

    The caption names no test set; both are computed.
    """

    def of(rules: Contributions) -> Iterator[tuple[Label, list[Row]]]:
        for i in range(rules.length + 1) if rules.length == config.length else ():
            found = rules.close_probability(range(i + 1))
            yield {"in_focus": i}, [{"probability": p} for p in found]

    return _over_rules(config, config.epochs, cache, of)


def interdependence(config: OverEpochs, cache: RunCache) -> list[Row]:
    """DI(open symbol, scaffold), of hidden states and of logits, by member, epoch and test set."""

    def of(rules: Contributions) -> Iterator[tuple[Label, list[Row]]]:
        found = rules.interdependence()
        pairs = zip(found["hidden"], found["logits"], strict=True)
        yield {}, [{"hidden": hidden, "logits": logits} for hidden, logits in pairs]

    return _over_rules(config, config.models.kept, cache, of)


def by_rule_frequency(config: RuleFrequency, cache: RunCache) -> list[Row]:
    """P(close | open symbol) and P(close | scaffold), unfamiliar scaffolds.

    Test scaffolds are random, as the corpus of Appendix B is; those of training are computed too.
    """

    def of(rules: Contributions) -> Iterator[tuple[Label, list[Row]]]:
        for focus, places in (("open", [0]), ("scaffold", range(1, rules.length + 1))):
            yield {"focus": focus}, [{"probability": p} for p in rules.close_probability(places)]

    rows = [
        row
        for models in (config.usual, config.others)
        for row in _over_rules(OverEpochs(models), (config.epoch,), cache, of)
    ]
    return [row for row in rows if row["setting"] == "unfamiliar"]


def gradients(config: Gradients, cache: RunCache) -> list[Row]:
    """L2 and maximum norm by member, epoch, kind and place in the rule (0 is the open symbol).

    The derivative of the loss that is read by embedding and by hidden state, and the error of
    each place's own prediction (Appendix C; defined in `espalier.training.gradients`).
    """
    rows: list[Row] = []
    for epoch, group, weights, shape in cache.trained(config.models).walk(config.epochs):
        with matmul_precision("float32"):
            found = member_gradients(
                weights,
                shape,
                group.examples("in_domain"),
                limit=config.sequences,
                reading=config.reading,
            )
        for places in zip(*found, strict=True):
            rows += group.label(list(places), epoch=epoch)
    return rows


def _over_rules(
    config: OverEpochs | GrowingFocus,
    epochs: tuple[int, ...],
    cache: RunCache,
    of: Callable[[Contributions], Iterable[tuple[Label, list[Row]]]],
) -> list[Row]:
    """What `of` finds in the rules of both test sets: labels, and one value per member."""
    rows: list[Row] = []
    close, reading = config.models.corpus.close, config.reading
    for epoch, group, weights, shape in cache.trained(config.models).walk(epochs):
        for domain in DOMAINS:
            examples = group.examples(domain)
            rules = contributions_of(weights, shape, examples, close=close, reading=reading)
            for label, values in of(rules):
                rows += group.label(values, epoch=epoch, domain=domain, **label)
    return rows
