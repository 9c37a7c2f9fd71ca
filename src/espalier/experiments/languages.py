"""Languages for the experiments on syntax: a model of each, and sentences whose trees are known.

At the `smoke` scale the language is made up; `small` is English as the package's own model has it,
on a sample of the treebank; `paper` trains the papers' model of WikiText-2, five seeds
as one ensemble, and reads all of English-EWT, which takes a GPU.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from espalier.data import BranchingConfig, Order
from espalier.errors import ConfigError
from espalier.experiments.experiment import Scale, check_scale, short_digest
from espalier.training import Network, Recipe, TextRun

EARLY = "step:0,100,300,1000"  # what is learnt within the first epoch
SEEDS = 5  # at the paper's scale


@dataclass(frozen=True)
class Bank:
    """A treebank by its name or path; a random sample of its sentences, or all."""

    source: str = "ud-english-ewt"
    sentences: int | None = None


@dataclass(frozen=True)
class Language:
    """The sentences that are read, and the models that read them.

    `run` says how they are trained, one per seed; without it, the package's own model reads. For a
    `made` language, text and treebank both come from `made`; without a `bank`, models are only
    trained.
    """

    run: TextRun | None = None
    bank: Bank | None = field(default_factory=Bank)
    made: BranchingConfig | None = None
    seeds: int = 1

    def __post_init__(self) -> None:
        if self.seeds < 1 or (self.run is None and self.seeds > 1):
            raise ConfigError(
                f"seeds is {self.seeds}; use at least 1, and no more than 1 without a run"
            )
        if self.made is not None and self.run is None:
            raise ConfigError("a made-up language needs a run: the package has no model of it")

    @property
    def name(self) -> str:
        """The same for equal settings, and different for others."""
        return f"language-{short_digest(asdict(self))}"

    @property
    def folder(self) -> str:
        """The models' folder, whatever treebank they read and however many seeds there are."""
        held = asdict(self)
        return f"text-{short_digest({name: held[name] for name in ('run', 'made')})}"


def english(scale: Scale) -> Language:
    """The language of most experiments."""
    match check_scale(scale):
        case "paper":
            return Language(_paper(), seeds=SEEDS)
        case "small":
            return Language(bank=Bank(sentences=1_500))
        case "smoke":
            return made_up("left", scale)


def english_in_training(scale: Scale) -> Language:
    """English with checkpoints of its training; at the small scale, a network for two cores."""
    match check_scale(scale):
        case "small":
            recipe = Recipe(epochs=2, learning_rate=20.0, anneal=4.0)
            network, keep = Network(hidden=64, tied=True), f"{EARLY}+epoch"
            run = TextRun("wikitext-2", 3_000, network, recipe, keep=keep)
            return Language(run, Bank(sentences=500))
        case _:
            return english(scale)


def made_up(order: Order, scale: Scale) -> Language:
    """A language that branches to one side, and small networks that learn it."""
    match check_scale(scale):
        case "smoke":
            config = BranchingConfig(order, words=20, governed=3, sentences=150, tests=150)
            recipe = Recipe(epochs=2, batch=5, window=10, learning_rate=5.0)
            run = TextRun("", network=Network(hidden=8), recipe=recipe, keep="step:0+epoch")
            return Language(run, made=config, seeds=2)
        case "small" | "paper":
            config = BranchingConfig(order, sentences=20_000, tests=1_000)
            recipe = Recipe(epochs=8, learning_rate=10.0, anneal=4.0)
            network, keep = Network(hidden=64), "step:0,30,100+epoch"  # an epoch has 167 steps
            run = TextRun("", None, network, recipe, keep=keep, engine="batched")
            return Language(run, made=config, seeds=SEEDS if scale == "paper" else 1)


def _paper() -> TextRun:
    recipe = Recipe(epochs=25, learning_rate=20.0, anneal=4.0, settle=8)
    network = Network(hidden=400, tied=True, dropout=0.5)
    keep = f"{EARLY}+epochs:1,2,3,5,8,12,16,24,25"
    return TextRun("wikitext-2", None, network, recipe, keep=keep, engine="batched")
