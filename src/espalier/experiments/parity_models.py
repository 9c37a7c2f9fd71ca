"""The models of the ALTA experiments: MLPs trained on traces, Transformers trained end to end.

At the `paper` scale every setting that the paper gives is the paper's (Tables 1, 3 and 6); `small`
has shorter strings, fewer words and smaller networks, small enough for two cores to finish within
minutes; `smoke` runs in seconds and shows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from espalier.data import ParityConfig
from espalier.errors import ConfigError
from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Scale, check_scale, short_digest
from espalier.learnability.supervision import ReadableSettings, TraceSettings
from espalier.nets.transformer import Positions, TransformerShape
from espalier.runs import RunFolder
from espalier.training import (
    SYMBOLS,
    TOKENS,
    ParityRun,
    ScanRun,
    ScanVariant,
    StepRecipe,
    as_settings,
    check_seeds,
)

if TYPE_CHECKING:
    import pandas

ProgramName = Literal["sequential-relative", "sequential-absolute", "sum-modulo"]
POSITIONS: tuple[Positions, ...] = ("relative", "absolute")


@dataclass(frozen=True)
class Traced:
    """A parity program, MLPs trained on its traces, and the strings that they are tested on."""

    program: ProgramName = "sequential-relative"
    settings: TraceSettings = field(default_factory=TraceSettings)
    train: ParityConfig = field(default_factory=ParityConfig)
    test: ParityConfig = field(default_factory=lambda: ParityConfig(40, 100, seed=1))
    seeds: int = 5

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ConfigError(f"seeds is {self.seeds}; at least one MLP is needed")


@dataclass(frozen=True)
class Read:
    """A parity program, and Transformers from which its variables are to be read at every layer."""

    program: ProgramName = "sequential-relative"
    settings: ReadableSettings = field(default_factory=ReadableSettings)
    train: ParityConfig = field(default_factory=lambda: ParityConfig(20, 100))
    test: ParityConfig = field(default_factory=lambda: ParityConfig(40, 100, seed=1))
    seeds: int = 3

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ConfigError(f"seeds is {self.seeds}; at least one Transformer is needed")


Learner = Traced | Read | ParityRun | ScanRun
LEARNERS: tuple[type[Learner], ...] = (Traced, Read, ParityRun, ScanRun)


@dataclass(frozen=True)
class Learners:
    """The models that an experiment trains."""

    learners: tuple[Learner, ...]


def label_of(learner: Learner) -> str:
    """A learner's label, by which it can be chosen."""
    kind: str
    match learner:
        case Traced() | Read():
            kind, recipe = learner.program, learner.settings.recipe
        case ScanVariant():
            return learner.name
        case ParityRun() | ScanRun():
            shape, recipe = learner.shape, learner.recipe
            sharing = "shared" if shape.shared else "own"
            kind = f"{shape.layers} layers, {sharing} weights, {shape.positions} positions"
    seeds = len(check_seeds(learner.seeds))
    return f"{kind}, {seeds} {'seed' if seeds == 1 else 'seeds'} until {recipe.until}"


def name_of(learner: Learner) -> str:
    """The same for equal settings, and different for others."""
    match learner:
        case Traced():
            kind = f"traces-{learner.program}"
        case Read():
            kind = f"readable-{learner.program}"
        case ParityRun():
            kind = "parity"
        case ScanRun():
            kind = "scan"
    return f"{kind}-{short_digest(as_settings(learner))}"


def with_until(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Rows with what ended training; those from earlier versions were trained to the last step."""
    if "until" not in rows:
        return rows.assign(until=StepRecipe().until)
    return rows.assign(until=rows["until"].fillna(StepRecipe().until))


def digest_of(learner: Learner, cache: RunCache) -> str:
    """SHA-256 of the data that a learner was trained on."""
    return RunFolder(cache.path / name_of(learner)).data_sha256()


def traced(scale: Scale) -> tuple[Traced, ...]:
    """The three programs, with Table 1's settings at the paper's scale."""
    match check_scale(scale):
        case "paper":
            deep = TraceSettings(4, 4096, recipe=StepRecipe(50_000, 256, 1e-4, "adam"))
            deeper = replace(deep, recipe=replace(deep.recipe, steps=400_000))
            return (
                Traced(),
                Traced("sequential-absolute", deep, seeds=1),
                Traced("sum-modulo", deeper, seeds=1),
            )
        case "small":
            return _traced_small(ParityConfig(10, 50), ParityConfig(20, 40, seed=1), seeds=3)
        case "smoke":
            recipe = StepRecipe(20, 8, 1e-3, "adam", measures=2)
            settings = TraceSettings(1, 8, recipe=recipe)
            strings = ParityConfig(3, 4), ParityConfig(6, 4, seed=1)
            return (
                Traced("sequential-relative", settings, *strings, seeds=2),
                Traced("sequential-absolute", settings, *strings, seeds=2),
                Traced("sum-modulo", settings, *strings, seeds=2),
            )


def _traced_small(train: ParityConfig, test: ParityConfig, *, seeds: int) -> tuple[Traced, ...]:
    """Narrower MLPs, trained with Adam at a higher rate for a twentieth of the steps or less."""
    recipe = StepRecipe(2_000, 128, 2e-3, "adam", measures=4, precision="float32")
    narrow = TraceSettings(2, 128, recipe=recipe)
    wide = TraceSettings(2, 256, recipe=replace(recipe, steps=4_000, learning_rate=1e-3))
    return (
        Traced("sequential-relative", narrow, train, test, seeds),
        Traced("sequential-absolute", wide, train, test, seeds),
        Traced("sum-modulo", replace(wide, recipe=recipe), train, test, seeds),
    )


def readable(scale: Scale) -> tuple[Read, ...]:
    """The three programs again, with no compiled parameters; the paper gives no settings here."""
    match check_scale(scale):
        case "paper":
            one = Read()
        case "small":
            recipe = StepRecipe(1_500, 32, 3e-3, "adam", measures=3, precision="float32")
            settings = ReadableSettings(32, 64, 2, 16, recipe)
            one = Read(settings=settings, train=ParityConfig(6, 100), seeds=2)
            one = replace(one, test=ParityConfig(12, 40, seed=1))
        case "smoke":
            recipe = StepRecipe(4, 8, 1e-3, "adam", measures=2, precision="float32")
            settings = ReadableSettings(8, 8, 2, 4, recipe)
            one = Read(settings=settings, train=ParityConfig(3, 4), seeds=2)
            one = replace(one, test=ParityConfig(6, 4, seed=1))
    return (one, replace(one, program="sequential-absolute"), replace(one, program="sum-modulo"))


def end_to_end(scale: Scale) -> tuple[ParityRun, ...]:
    """Table 3's eight Transformers: two depths, shared weights or not, two kinds of positions."""
    match check_scale(scale):
        case "paper":
            run, depths = ParityRun(), (8, 40)
        case "small":
            shape = TransformerShape(TOKENS, 2, width=32, hidden=128, heads=4, head_width=8)
            recipe = StepRecipe(2_000, 64, 1e-2, "adafactor", measures=4, precision="float32")
            train, test = ParityConfig(7, 1_000), ParityConfig(14, 60, seed=1)
            run, depths = ParityRun(shape, train, test, recipe, seeds=2), (2, 4)
        case "smoke":
            shape = TransformerShape(TOKENS, 2, width=8, hidden=8, heads=2, head_width=4)
            recipe = StepRecipe(4, 8, 1e-3, "adafactor", measures=2, precision="float32")
            train, test = ParityConfig(3, 4), ParityConfig(6, 4, seed=1)
            run, depths = ParityRun(shape, train, test, recipe, seeds=2), (1, 2)
    return tuple(
        replace(run, shape=replace(run.shape, layers=layers, shared=shared, positions=positions))
        for positions in POSITIONS
        for layers in depths
        for shared in (False, True)
    )


def translators(scale: Scale) -> tuple[ScanRun, ...]:
    """Table 6's Transformers; without shared weights the deepest two are left out."""
    depths: tuple[int, ...]
    match check_scale(scale):
        case "paper":
            run, depths = ScanRun(), (2, 6, 16, 32, 64, 128, 256)
        case "small":
            shape = TransformerShape(
                len(SYMBOLS), len(SYMBOLS), 32, 64, heads=4, head_width=8, decoder=True
            )
            recipe = StepRecipe(1_200, 64, 2e-3, "adam", measures=4, precision="float32")
            run = ScanRun(shape, ("upto:5,7",), recipe, seeds=1, tests=500)
            depths = (1, 2, 4)
        case "smoke":
            shape = TransformerShape(
                len(SYMBOLS), len(SYMBOLS), 8, 8, heads=2, head_width=4, decoder=True
            )
            recipe = StepRecipe(4, 8, 1e-3, "adafactor", measures=2, precision="float32")
            run = ScanRun(shape, ("upto:1,2", "upto:2,3"), recipe, seeds=2, tests=8)
            depths = (1, 2)
    return tuple(
        replace(run, shape=replace(run.shape, layers=layers, shared=shared, positions=positions))
        for shared in (True, False)
        for positions in POSITIONS
        for layers in depths
        if shared or layers <= 64
    )
