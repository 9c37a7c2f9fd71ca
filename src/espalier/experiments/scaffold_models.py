"""The ensembles that the figures read, at three scales.

`smoke` runs in seconds and shows nothing; `small` shows the effects with a corpus and a network
that take minutes on two cores; `paper` has the papers' sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from espalier.data import ScaffoldConfig, Setting
from espalier.errors import ConfigError
from espalier.experiments.experiment import Scale, check_scale, short_digest
from espalier.training import Network, Recipe, ScaffoldRun, as_settings

BOTH: tuple[Setting, ...] = ("unfamiliar", "familiar")


@dataclass(frozen=True)
class ScaffoldModels:
    """Every length, setting and number of rules with every seed, and the epochs that are saved.

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
        return f"scaffolds-{short_digest(as_settings(self))}"


# Sizes below the papers', chosen so that every effect is there to be seen (docs/experiments.md).
_SMALL_CORPUS = ScaffoldConfig(
    tokens=100_000, vocabulary=200, rules=500, scaffolds=20, copies=500, tests=200
)
_SMOKE_CORPUS = ScaffoldConfig(
    tokens=2_000, vocabulary=20, rules=40, scaffolds=10, copies=20, tests=20, test_length=20
)


def familiarity(scale: Scale) -> ScaffoldModels:
    """Both settings at every length: what Figures 7 to 10 and 12 are drawn from."""
    match check_scale(scale):
        case "paper":
            return ScaffoldModels()
        case "small":
            return ScaffoldModels(
                rules=(500,),
                seeds=3,
                kept=(*range(1, 13), 14, 16),
                corpus=_SMALL_CORPUS,
                network=Network(hidden=64),
                recipe=Recipe(epochs=16, learning_rate=4.0),
            )
        case "smoke":
            return ScaffoldModels(
                lengths=(2, 4),
                rules=(40,),
                seeds=2,
                kept=(1, 2),
                corpus=_SMOKE_CORPUS,
                network=Network(hidden=12),
                recipe=Recipe(epochs=2, batch=5, window=10, learning_rate=4.0),
            )


def frequency(scale: Scale) -> ScaffoldModels:
    """Other numbers of rules than `familiarity` has, unfamiliar scaffolds: Figure 11 needs both."""
    base = replace(familiarity(scale), settings=("unfamiliar",))
    match scale:
        case "paper":
            recipe = replace(base.recipe, epochs=40)
            return replace(base, rules=(30, 100, 300, 3_000), kept=(40,), recipe=recipe)
        case "small":
            return replace(base, rules=(100, 2_000), seeds=2, kept=(16,))
        case "smoke":
            return replace(base, rules=(20,), kept=(2,))
