"""The ensembles that the figures read, at three scales.

`smoke` runs in seconds and says nothing; `small` shows the effects on a corpus and a network cut
down until they fit into minutes on two cores; `paper` has the papers' sizes.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal, get_args

from espalier.data.scaffold import ScaffoldConfig, Setting
from espalier.errors import ConfigError, nearest
from espalier.training.recipe import Recipe
from espalier.training.scaffold import Network, ScaffoldRun

Scale = Literal["smoke", "small", "paper"]
BOTH: tuple[Setting, ...] = ("unfamiliar", "familiar")


@dataclass(frozen=True)
class Models:
    """Every length, setting and number of rules with every seed, and the epochs that are kept.

    The defaults are the papers'. Length, setting, rules and seed of `corpus` itself are replaced
    by those listed.
    """

    lengths: tuple[int, ...] = (2, 4, 6, 8)
    settings: tuple[Setting, ...] = BOTH
    rules: tuple[int, ...] = (1_000,)
    seeds: int = 5
    kept: tuple[int, ...] = (*range(1, 21), 25, 30, 35, 40, 45, 50)
    corpus: ScaffoldConfig = field(default_factory=ScaffoldConfig)
    network: Network = field(default_factory=Network)
    recipe: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ConfigError(f"seeds is {self.seeds}; at least one model of each kind is needed")
        late = [epoch for epoch in self.kept if not 1 <= epoch <= self.recipe.epochs]
        if late or not self.kept:
            raise ConfigError(
                f"epochs kept are {self.kept}; they must lie between 1 and {self.recipe.epochs}, "
                f"the epochs trained"
            )

    def runs(self) -> list[ScaffoldRun]:
        """The members, those of one length side by side."""
        keep = f"epochs:{','.join(map(str, self.kept))}"
        return [
            ScaffoldRun(
                replace(self.corpus, length=length, setting=setting, rules=rules, seed=seed),
                self.network,
                self.recipe,
                keep,
            )
            for length in self.lengths
            for rules in self.rules
            for setting in self.settings
            for seed in range(self.seeds)
        ]

    @property
    def name(self) -> str:
        """The same for equal settings, and different for others."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()
        return f"scaffolds-{digest[:10]}"


def models_in(config: Any) -> list[Models]:
    """Every ensemble that a config names, each once."""
    if isinstance(config, Models):
        return [config]
    parts = [getattr(config, one.name) for one in fields(config)] if is_dataclass(config) else []
    return list(dict.fromkeys(models for part in parts for models in models_in(part)))


# Sizes below the papers', chosen so that every effect is there to be seen (docs/experiments.md).
_SMALL_CORPUS = ScaffoldConfig(
    tokens=100_000, vocabulary=200, rules=500, scaffolds=20, copies=500, tests=200
)
_SMOKE_CORPUS = ScaffoldConfig(
    tokens=2_000, vocabulary=20, rules=40, scaffolds=10, copies=20, tests=20, test_length=20
)


def familiarity(scale: Scale) -> Models:
    """Both settings at every length: what Figures 7 to 10 and 12 are drawn from."""
    match checked(scale):
        case "paper":
            return Models()
        case "small":
            return Models(
                rules=(500,),
                seeds=3,
                kept=(*range(1, 13), 14, 16),
                corpus=_SMALL_CORPUS,
                network=Network(hidden=64),
                recipe=Recipe(epochs=16, learning_rate=4.0),
            )
        case "smoke":
            return Models(
                lengths=(2, 4),
                rules=(40,),
                seeds=2,
                kept=(1, 2),
                corpus=_SMOKE_CORPUS,
                network=Network(hidden=12),
                recipe=Recipe(epochs=2, batch=5, window=10, learning_rate=4.0),
            )


def frequency(scale: Scale) -> Models:
    """Other numbers of rules than `familiarity` has, unfamiliar scaffolds: Figure 11 needs both."""
    base = replace(familiarity(scale), settings=("unfamiliar",))
    match scale:
        case "paper":
            recipe = replace(base.recipe, epochs=40)
            return replace(base, rules=(30, 100, 300, 3_000), seeds=3, kept=(40,), recipe=recipe)
        case "small":
            return replace(base, rules=(100, 2_000), seeds=2, kept=(16,))
        case "smoke":
            return replace(base, rules=(20,), kept=(2,))


def checked(scale: Any) -> Scale:
    """The scale, if it is one."""
    if scale not in get_args(Scale):
        raise ConfigError(f"there is no scale {scale!r}; {nearest(scale, get_args(Scale))}")
    found: Scale = scale
    return found
