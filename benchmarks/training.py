"""Tokens a second: an ensemble against a plain PyTorch loop over the same models, in one run.

    python benchmarks/training.py [--models 8] [--rounds 5] [--json FILE]

The two take turns, so that whatever else the machine does falls on both; the ratio is that of the
median times. The plain loop is the textbook one: nn.LSTM, cross_entropy, clip_grad_norm_, SGD.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from espalier.data import ScaffoldConfig, scaffold_corpus
from espalier.nets.lstm import language_model
from espalier.training import EnsembleLearner, Member, Recipe, TextLoss

CPU = torch.device("cpu")
STEPS_PER_EPOCH = 1_428  # 1M tokens in 20 rows, windows of 35


class Plain:
    """One model, trained as everyone would."""

    def __init__(self, seed: int, stream: torch.Tensor, recipe: Recipe) -> None:
        self.model = language_model(vocabulary_size=1002, hidden=200, seed=seed)
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=recipe.learning_rate)
        self.stream, self.recipe, self.state, self.step = stream.T.contiguous(), recipe, None, 0

    def advance(self, steps: int) -> None:
        for _ in range(steps):
            start = self.step * self.recipe.window
            tokens = self.stream[:, start : start + self.recipe.window + 1].long()
            logits, state = self.model(tokens[:, :-1], self.state)
            loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            self.optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
            self.optimiser.step()
            self.state = tuple(part.detach() for part in state)
            self.step += 1


RESULTS = Path(__file__).parent / "results"
EPOCH = 1_000_000  # tokens, as in the papers


def clock(action, *given) -> float:
    began = time.perf_counter()
    action(*given)
    return time.perf_counter() - began


def measure(models: int, rounds: int, steps: int) -> dict[str, float]:
    recipe = Recipe()
    rng = np.random.default_rng(0)
    size = (models, (rounds + 1) * steps * recipe.window + 1, recipe.batch)
    streams = torch.from_numpy(rng.integers(1002, size=size).astype(np.int32))
    tests = TextLoss.of(rng.integers(1002, size=1_000), CPU)
    team = [
        Member(f"m{s}", language_model(vocabulary_size=1002, hidden=200, seed=s))
        for s in range(models)
    ]
    together = EnsembleLearner(team, streams, recipe, measure=tests, device=CPU)
    plain = [Plain(seed, stream, recipe) for seed, stream in enumerate(streams)]

    def loop(steps: int) -> None:
        for one in plain:
            one.advance(steps)

    together.advance(steps)
    loop(steps)
    times = [(clock(together.advance, steps), clock(loop, steps)) for _ in range(rounds)]
    ours, theirs = (statistics.median(column) for column in zip(*times, strict=True))
    tokens = models * steps * recipe.window * recipe.batch
    return {
        "models": models,
        "ensemble_tokens_per_second": tokens / ours,
        "plain_tokens_per_second": tokens / theirs,
        "ensemble_model_epochs_per_second": models * steps / ours / STEPS_PER_EPOCH,
        "plain_model_epochs_per_second": models * steps / theirs / STEPS_PER_EPOCH,
        "ratio": theirs / ours,
        "ratio_lowest": min(b / a for a, b in times),
        "ratio_highest": max(b / a for a, b in times),
    }


def corpus_seconds() -> float:
    config = ScaffoldConfig(length=8, setting="familiar")
    return min(clock(scaffold_corpus, config) for _ in range(5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, nargs="*", default=[8])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--json", type=Path, default=RESULTS / "training.json")
    args = parser.parse_args()
    rows = [measure(models, args.rounds, args.steps) for models in args.models]
    print(f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print(
        "models   ensemble tok/s   plain tok/s   model-epochs/s, both   ratio (lowest to highest)"
    )
    for row in rows:
        print(
            f"{row['models']:6d} {row['ensemble_tokens_per_second']:16,.0f} "
            f"{row['plain_tokens_per_second']:13,.0f}   "
            f"{row['ensemble_tokens_per_second'] / EPOCH:.4f}, "
            f"{row['plain_tokens_per_second'] / EPOCH:.4f}         {row['ratio']:.2f} "
            f"({row['ratio_lowest']:.2f} to {row['ratio_highest']:.2f})"
        )
    seconds = corpus_seconds()
    print(f"a scaffold corpus of 1M tokens: {seconds * 1e3:.0f} ms")
    result = {"threads": torch.get_num_threads(), "torch": torch.__version__, "rows": rows}
    args.json.parent.mkdir(exist_ok=True)
    args.json.write_text(json.dumps(result | {"corpus_seconds": seconds}, indent=1))


if __name__ == "__main__":
    main()
