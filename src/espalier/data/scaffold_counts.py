"""The true counts of a scaffold corpus, from its tokens alone."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from jaxtyping import Int, UInt64

from espalier.data.scaffold import Array, ScaffoldCorpus
from espalier.errors import DataError

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class ScaffoldCounts:
    """True counts. Chance can add to occurrences outside rules, never to rules."""

    tokens: int
    opens: int
    closes: int
    rules: int
    fewest_rules_per_scaffold: int
    most_rules_per_scaffold: int
    fewest_outside_per_scaffold: int
    most_outside_per_scaffold: int
    in_domain_rules: int
    out_of_domain_rules: int
    out_of_domain_known: int

    def to_dict(self) -> dict[str, int]:
        """The counts by name."""
        return asdict(self)


def count_scaffolds(corpus: ScaffoldCorpus) -> ScaffoldCounts:
    """Count rules and scaffolds in the tokens; refuse a corpus that does not match its config."""
    config, tokens, k = corpus.config, corpus.train, corpus.config.length
    which = _which_phrase(tokens, corpus.scaffolds)  # at each place: the phrase there, or -1
    places = np.flatnonzero(which >= 0)
    opened = (places > 0) & (tokens[np.maximum(places - 1, 0)] == config.open)
    inside = opened & (tokens[np.minimum(places + k, len(tokens) - 1)] == config.close)
    size = len(corpus.scaffolds)
    ruled = np.bincount(which[places[inside]], minlength=size)
    outside = np.bincount(which[places[~inside]], minlength=size)
    in_domain = _tested(corpus, corpus.in_domain.tokens)
    out_of_domain = _tested(corpus, corpus.out_of_domain.tokens)
    counts = ScaffoldCounts(
        tokens=len(tokens),
        opens=int((tokens == config.open).sum()),
        closes=int((tokens == config.close).sum()),
        rules=int(ruled.sum()),
        fewest_rules_per_scaffold=int(ruled.min()),
        most_rules_per_scaffold=int(ruled.max()),
        fewest_outside_per_scaffold=int(outside.min()),
        most_outside_per_scaffold=int(outside.max()),
        in_domain_rules=in_domain[0],
        out_of_domain_rules=out_of_domain[0],
        out_of_domain_known=out_of_domain[1],
    )
    _refuse_untrue(corpus, counts)
    return counts


def _which_phrase(tokens: Int[Array, " T"], phrases: Int[Array, "S K"]) -> Int[Array, " P"]:
    """At every place the index of the phrase that starts there, or -1; hashed, then verified."""
    windows = np.lib.stride_tricks.sliding_window_view(tokens, phrases.shape[1])
    hashes, wanted = _hash(windows), _hash(phrases)
    order = np.argsort(wanted)
    found = order[np.searchsorted(wanted, hashes, sorter=order).clip(max=len(order) - 1)]
    which = np.full(len(windows), -1)
    likely = np.flatnonzero(wanted[found] == hashes)
    true = (windows[likely] == phrases[found[likely]]).all(axis=1)
    which[likely[true]] = found[likely[true]]
    return which


def _hash(rows: Int[Array, "R K"]) -> UInt64[Array, " R"]:
    total = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:  # over the k places of a phrase, not over tokens
        total = total * _MULTIPLIER + column.astype(np.uint64) + np.uint64(1)
    return total


def _tested(corpus: ScaffoldCorpus, tokens: Int[Array, "M N"]) -> tuple[int, int]:
    """Test sequences with their rule in place, and those whose scaffold is in the training list."""
    k, config = corpus.config.length, corpus.config
    rows, at = np.nonzero(tokens == config.open)
    closed = tokens[rows, np.minimum(at + k + 1, tokens.shape[1] - 1)] == config.close
    held = tokens[rows[:, None], np.minimum(at[:, None] + 1 + np.arange(k), tokens.shape[1] - 1)]
    known = np.isin(_hash(held), _hash(corpus.scaffolds))
    return int(closed.sum()), int(known.sum())


def _refuse_untrue(corpus: ScaffoldCorpus, counts: ScaffoldCounts) -> None:
    config, apart = corpus.config, corpus.config.layout == "apart"
    due = {"tokens": config.tokens}
    due |= {"opens": config.rules, "closes": config.rules} if apart else {}
    due |= {
        "rules": config.rules if apart else len(corpus.rule_starts),
        "in_domain_rules": config.tests,
        "out_of_domain_rules": config.tests,
    }
    wrong = {name: want for name, want in due.items() if counts.to_dict()[name] != want}
    if apart and counts.fewest_outside_per_scaffold < config.placed_copies // config.scaffolds:
        wrong["fewest_outside_per_scaffold"] = config.copies
    if wrong:
        found = ", ".join(f"{name} {counts.to_dict()[name]} for {wrong[name]}" for name in wrong)
        raise DataError(
            f"corpus {config.name} does not hold what its config says: {found}; "
            f"its tokens were changed after they were generated"
        )
