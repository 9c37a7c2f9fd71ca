"""Scaffold corpora: random tokens with a long-range rule `open scaffold close` hidden in them.

The setting of lstms-compose-bottom-up, 4.2 and 4.3. Rules and copies are laid out as whole items
among single filler tokens, in an order drawn uniformly, so that nothing overlaps and nothing is
overwritten; there is no loop over tokens. What a corpus truly holds is counted in
`data.scaffold_counts`; the authors' own layout is in `data.scaffold_overwriting`.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Int

from espalier.data.scaffold_overwriting import lay_over
from espalier.errors import DataError, check_kind, check_seed, check_whole, is_one_of, nearest
from espalier.results import Described

Setting = Literal["familiar", "unfamiliar"]
Layout = Literal["apart", "overwriting"]
Reading = Literal["before close", "after close"]  # the step at which a rule is read
Array = np.ndarray
MOST_WORDS = 10_000_000  # each has a name
MOST_TOKENS = 1_000_000_000


@dataclass(frozen=True)
class ScaffoldConfig:
    """A corpus of `tokens` tokens: `rules` rules over `scaffolds` distinct scaffolds.

    In the familiar setting every scaffold also stands `copies` times outside rules. With
    `scaffolds` equal to `rules` each rule has a scaffold of its own. With `layout` "overwriting"
    rules and copies are placed as the papers' authors placed them, one over the other: at the
    papers' sizes 28% to 56% of the familiar setting's rules are lost by it.
    """

    length: int = 4
    setting: Setting = "unfamiliar"
    seed: int = 0
    tokens: int = 1_000_000
    vocabulary: int = 1_000
    rules: int = 1_000
    scaffolds: int = 100
    copies: int = 1_000
    tests: int = 1_000
    test_length: int = 35
    layout: Layout = "apart"

    def __post_init__(self) -> None:
        _refuse_impossible(self)

    @property
    def open(self) -> int:
        """The open symbol's number, just after the plain tokens."""
        return self.vocabulary

    @property
    def close(self) -> int:
        """The close symbol's number, the last."""
        return self.vocabulary + 1

    @property
    def vocabulary_size(self) -> int:
        """Plain tokens and the two symbols."""
        return self.vocabulary + 2

    @property
    def words(self) -> tuple[str, ...]:
        """A name for every number."""
        return (*(f"w{number}" for number in range(self.vocabulary)), "<open>", "<close>")

    @property
    def name(self) -> str:
        """Short and distinct among members that differ in length, setting, rules and seed."""
        rules = "" if self.rules == 1_000 else f"-n{self.rules}"
        layout = "" if self.layout == "apart" else f"-{self.layout}"
        return f"k{self.length}-{self.setting}{rules}{layout}-s{self.seed}"

    @property
    def placed_copies(self) -> int:
        """Copies of scaffolds outside rules, all scaffolds together."""
        return self.scaffolds * self.copies if self.setting == "familiar" else 0

    @property
    def occurrences(self) -> int:
        """In the overwriting layout, how often a rule's scaffold is placed, the rule included."""
        return max(1, self.placed_copies // self.rules)

    @property
    def slots(self) -> int:
        """In the overwriting layout, the places that rules and copies are drawn from."""
        return -(-self.tokens // (self.length + 2))

    def to_dict(self) -> dict[str, object]:
        """The fields by name, for a manifest."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class Examples(Described):
    """Test sequences, one rule each; the close symbol is predicted at `last`."""

    tokens: Int[Array, "M N"]
    open_at: Int[Array, " M"]
    length: int

    @property
    def last(self) -> Int[Array, " M"]:
        """Index of the last scaffold token; the close symbol stands right after it."""
        return self.open_at + self.length

    def tokens_read(self, reading: Reading) -> int:
        """How much of a rule a model has read: up to its scaffold's end, or the close symbol too.

        The papers' text has the step that predicts the close symbol; the authors' scripts
        (github.com/nsaphra/acd, lm_synthetic_decomposition.py) read where it is the input.
        """
        return self.length + 1 + (reading == "after close")


@dataclass(frozen=True, repr=False)
class ScaffoldCorpus(Described):
    """Training tokens, the scaffolds in them, and the two test sets."""

    config: ScaffoldConfig
    train: Int[Array, " T"]
    scaffolds: Int[Array, "S K"]
    rule_starts: Int[Array, " R"]
    in_domain: Examples
    out_of_domain: Examples

    @property
    def digest(self) -> str:
        """SHA-256 of training and test tokens."""
        whole = hashlib.sha256()
        for part in (self.train, self.in_domain.tokens, self.out_of_domain.tokens):
            whole.update(np.ascontiguousarray(part, dtype=np.int32).tobytes())
        return whole.hexdigest()


def scaffold_corpus(config: ScaffoldConfig) -> ScaffoldCorpus:
    """The corpus that the config and its seed determine.

    >>> config = ScaffoldConfig(
    ...     length=2, tokens=200, vocabulary=20, rules=4, scaffolds=2, copies=2, tests=3,
    ...     test_length=12,
    ... )
    >>> scaffold_corpus(config).in_domain.tokens.shape
    (3, 12)
    """
    check_kind("config", config, ScaffoldConfig, error=DataError)
    rng = np.random.default_rng(config.seed)
    phrases = _distinct_phrases(config, rng)
    lay_out = _lay_apart if config.layout == "apart" else lay_over
    train, starts = lay_out(config, phrases, rng)
    seen = phrases[rng.integers(len(phrases), size=config.tests)]
    fresh = rng.integers(config.vocabulary, size=seen.shape, dtype=np.int32)
    return ScaffoldCorpus(
        config=config,
        train=train,
        scaffolds=phrases,
        rule_starts=starts,
        in_domain=_examples(config, seen, rng),
        out_of_domain=_examples(config, fresh, rng),
    )


def _lay_apart(
    config: ScaffoldConfig, phrases: Array, rng: np.random.Generator
) -> tuple[Int[Array, " T"], Int[Array, " R"]]:
    """Training tokens and where the rules start.

    Item kinds: 0 a filler token, 1 a rule (k + 2 tokens), 2 a copy (k tokens).
    """
    k, n, copies = config.length, config.rules, config.placed_copies
    fillers = config.tokens - n * (k + 2) - copies * k
    kinds = np.repeat(np.array([0, 1, 2], dtype=np.int8), [fillers, n, copies])
    rng.shuffle(kinds)
    lengths = np.array([1, k + 2, k])[kinds]
    starts = np.cumsum(lengths) - lengths
    tokens = rng.integers(config.vocabulary, size=config.tokens, dtype=np.int32)
    rule_starts, copy_starts = starts[kinds == 1], starts[kinds == 2]
    within = np.arange(k)
    tokens[rule_starts] = config.open
    tokens[rule_starts[:, None] + 1 + within] = phrases[_dealt(n, len(phrases), rng)]
    tokens[rule_starts + k + 1] = config.close
    tokens[copy_starts[:, None] + within] = phrases[_dealt(copies, len(phrases), rng)]
    return tokens, rule_starts


def _dealt(count: int, among: int, rng: np.random.Generator) -> Int[Array, " C"]:
    """`count` indices below `among` in random order, each as often as the next or once more."""
    dealt = np.arange(count) % among
    rng.shuffle(dealt)
    return dealt


def _distinct_phrases(config: ScaffoldConfig, rng: np.random.Generator) -> Int[Array, "S K"]:
    """Random phrases of plain tokens; a repeated one is drawn again."""
    wanted = (config.scaffolds, config.length)
    phrases = rng.integers(config.vocabulary, size=wanted, dtype=np.int32)
    while True:
        _, first = np.unique(phrases, axis=0, return_index=True)
        repeated = np.setdiff1d(np.arange(len(phrases)), first)
        if not len(repeated):
            return phrases
        phrases[repeated] = rng.integers(
            config.vocabulary, size=(len(repeated), config.length), dtype=np.int32
        )


def _examples(config: ScaffoldConfig, phrases: Array, rng: np.random.Generator) -> Examples:
    """Random sequences with `open phrase close` at a place drawn uniformly."""
    k, count = config.length, len(phrases)
    size = (count, config.test_length)
    tokens = rng.integers(config.vocabulary, size=size, dtype=np.int32)
    open_at = rng.integers(config.test_length - (k + 2) + 1, size=count)
    rows = np.arange(count)
    tokens[rows, open_at] = config.open
    tokens[rows[:, None], open_at[:, None] + 1 + np.arange(k)] = phrases
    tokens[rows, open_at + k + 1] = config.close
    return Examples(tokens, open_at, k)


def _refuse_impossible(config: ScaffoldConfig) -> None:
    if not is_one_of(config.setting, ("familiar", "unfamiliar")):
        raise DataError(f"setting is {config.setting!r}; use 'familiar' or 'unfamiliar'")
    sizes = ("length", "tokens", "vocabulary", "rules", "scaffolds", "tests", "test_length")
    check_whole(config, sizes, error=DataError)
    check_seed(config.seed, least=0, error=DataError)
    if config.vocabulary > MOST_WORDS:
        raise DataError(f"vocabulary is {config.vocabulary}; {MOST_WORDS:,} tokens are the most")
    _refuse_too_large(config)
    check_whole(config, ("copies",), least=0, error=DataError)
    if config.layout not in get_args(Layout):
        raise DataError(f"layout is {config.layout!r}; {nearest(config.layout, get_args(Layout))}")
    _refuse_overfull(config)
    k = config.length
    if config.vocabulary**k < config.scaffolds:
        raise DataError(
            f"{config.vocabulary:,} tokens make {config.vocabulary**k:,} phrases of length {k}, "
            f"fewer than the {config.scaffolds:,} distinct scaffolds asked for"
        )
    if k + 2 > config.test_length:
        raise DataError(
            f"a rule of {k} + 2 tokens does not fit into test sequences of {config.test_length}"
        )


def _refuse_too_large(config: ScaffoldConfig) -> None:
    """Raise if the text, the scaffolds or the tests have more tokens than any machine holds."""
    for what, tokens in (
        ("the text", config.tokens),
        (f"{config.scaffolds:,} scaffolds", config.scaffolds * config.length),
        (f"{config.tests:,} tests", config.tests * config.test_length),
    ):
        if tokens > MOST_TOKENS:
            raise DataError(
                f"{what} of scaffold length {config.length:,} would have {tokens:,} tokens; "
                f"{MOST_TOKENS:,} are the most: ask for fewer"
            )


def _refuse_overfull(config: ScaffoldConfig) -> None:
    """Raise if rules and copies are more than there is room for in the layout."""
    k, n, copies = config.length, config.rules, config.placed_copies
    if config.layout == "overwriting":
        needed, room = n * config.occurrences, config.slots
        sum_ = f"{config.occurrences} occurrences = {needed:,}, and there are {room:,} places"
        where = f", one every {k} + 2 tokens"
    else:
        needed, room = n * (k + 2) + copies * k, config.tokens
        copied = f" + {config.scaffolds:,} scaffolds x {config.copies:,} copies x {k}"
        sum_ = f"({k} + 2){copied if copies else ''} = {needed:,} tokens, and there are {room:,}"
        where = ""
    if needed > room:
        raise DataError(
            f"the {config.setting} corpus of scaffold length {k} does not fit: {n:,} rules x "
            f"{sum_}{where}; ask for more tokens, fewer copies or a shorter scaffold"
        )
