"""Every kind of network with every call: each cell is tried, with the reason where it is refused.

    python -m benchmarks.networks --table

writes the table into docs/networks.md; tests/networks/test_table.py tries every cell again.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from docs.pages.filling import fill

import espalier as es
from espalier.decomposition import IntegratedGradients, Linearised, Rules, Shapley, ZeroOpposites
from espalier.errors import EspalierError
from espalier.networks import Network

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from any_networks import WORDS, module

PAGE = Path(__file__).parent.parent / "docs" / "networks.md"
GROUPS = {
    "`nn.LSTM`": ["lstm", "lstm-no-bias"],
    "projected, unequal widths": ["lstm-projected", "unequal-widths"],
    "`nn.GRU`": ["gru"],
    "LSTM, GRU both ways": ["lstm-both-ways", "gru-both-ways"],
    "GPT-2, LLaMA-like": ["gpt2", "llama", "qwen2", "mistral"],
    "BERT-like": ["bert", "roberta"],
    "`nn.TransformerEncoder`": ["encoder", "encoder-causal"],
    "trained here": ["trained", "trained-absolute"],
    "compiled": ["compiled"],
}
NAMED = (
    "occlusion", "interaction-index", "conditional-pmi", "perturbed-masking", "shapley",
    "input-hessian",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A small network with a tokenizer, and a sentence of five of its tokens."""

    kind: str

    @cached_property
    def net(self) -> Network:
        words = ["zero", "one", "start"] if self.kind == "compiled" else WORDS
        return es.network(module(self.kind), tokenizer=words)

    @property
    def text(self) -> str:
        return "start one zero one one" if self.kind == "compiled" else "the dog chased the cat"

    @property
    def ids(self) -> tuple[int, ...]:
        return self.net.read(self.text).ids


def _sums(parts: Any) -> None:
    assert parts.error < 1e-5, parts.error


def _parts(case: Case, **asked: Any) -> None:
    for focus in ([1], [0, 3]):
        parts = es.decompose(case.net, case.text, focus=focus, **asked)
        _sums(parts)
    width = case.net.outputs if asked.get("space") == "logits" else parts.hidden.shape[1]
    assert parts.relevant.shape == (5, width)


def _layers(case: Case) -> None:
    for layer in range(-1, case.net.layers + 1):
        _parts(case, layer=layer)


def _pairs(case: Case, **asked: Any) -> None:
    """Every two words, which are what two sets of one word each are in double precision."""
    found = es.interdependence(case.net, case.text, **asked)
    assert np.isnan(found.values[np.tril_indices(5)]).all()
    if not asked:
        assert found.error < 1e-2, found.error
    for left, right in ((0, 1), (1, 3)):
        one = es.interdependence(case.net.double(), case.text, a=[left], b=[right], **asked)
        np.testing.assert_allclose(found.values[left, right], one, rtol=1e-2, atol=1e-6)


def _pairs_at_layers(case: Case) -> None:
    for layer in range(1, case.net.layers):
        _pairs(case, layer=layer)


def _sets(case: Case) -> None:
    found = es.interdependence(case.net, case.text, a=[0, 1], b=[3], at=4)
    for parts in found.parts:
        _sums(parts)


def _numbers(case: Case, method: str) -> None:
    found = es.interdependence(case.net, case.text, method=method)
    upper = found.values[np.triu_indices(5, 1)]
    assert not np.isinf(upper).any()
    assert np.isfinite(upper).any() or case.kind == "compiled"  # nothing may be what words do


def _batch(case: Case) -> None:
    texts = [case.text, " ".join(case.text.split()[:3])]
    pairs = es.interdependence(case.net, texts)
    parts = es.decompose(case.net, texts, focus=[[1], [2]])
    assert [one.words for one in pairs] == [one.words for one in parts]
    for number, text in enumerate(texts):
        alone = es.interdependence(case.net, text).values
        np.testing.assert_allclose(pairs[number].values, alone, rtol=1e-3, atol=1e-6)


def _focus(case: Case) -> None:
    word = case.text.split()[2]
    start = case.text.index(word)
    for focus in (word, [word], [2], [(start, start + len(word))]):
        assert es.decompose(case.net, case.text, focus=focus).focus == (2,)


def _results(case: Case) -> list[Any]:
    parts = es.decompose(case.net, case.text, focus=[1])
    return [parts, es.interdependence(case.net, case.text)]


def _page(case: Case) -> None:
    for result in _results(case):
        page = result._repr_html_()
        assert all(word in page for word in case.text.split())
        assert case.text.split()[2] in str(result)


def _plot(case: Case) -> None:
    for result in _results(case):
        assert result.plot().axes


def _save(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for result in _results(case):
            for suffix in ("html", "csv", "json", "parquet", "png"):
                file = Path(folder) / f"result.{suffix}"
                result.save(file)
                assert file.stat().st_size > 50


RULES = Rules(attention=Linearised(), activation=Shapley(), opposites=ZeroOpposites())
CALLS: dict[str, Callable[[Case], None]] = {
    "`decompose`, every layer": _layers,
    '`space="logits"`': partial(_parts, space="logits"),
    '`method="decompx"`': partial(_parts, method="decompx"),
    "`method=Rules(...)`": partial(_parts, method=RULES),
    **{
        f'`method="{name}"`': partial(_parts, method=name)
        for name in ("occlusion", "gradient-input", "attention-rollout", "alti")
    },
    "`method=IntegratedGradients(...)`": partial(_parts, method=IntegratedGradients(4)),
    "`interdependence`": _pairs,
    "of logits": partial(_pairs, space="logits"),
    "at every layer": _pairs_at_layers,
    "of two sets": _sets,
    **{f'by `"{name}"`': partial(_numbers, method=name) for name in NAMED},
    "a list of sentences": _batch,
    "focus: words, places, characters": _focus,
    "text and page": _page,
    "`.plot()`": _plot,
    "`.save()`": _save,
}


def outcome(case: Case, call: str) -> str:
    """Empty where the call works as documented, else the message that it is refused with."""
    try:
        with torch.random.fork_rng(devices=[]):
            CALLS[call](case)
    except EspalierError as error:
        return str(error).replace(case.net.name, "the network")
    return ""


def write_table() -> str:
    """The table in the page: one row per call, one column per kind; reasons below."""
    reasons: list[str] = []
    head = ["call", *GROUPS]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    cases = {kind: Case(kind) for kinds in GROUPS.values() for kind in kinds}
    for call in CALLS:
        cells = []
        for name, kinds in GROUPS.items():
            found = {outcome(cases[kind], call) for kind in kinds}
            if len(found) > 1:
                raise SystemExit(f"{call}: {name} differ among themselves: {sorted(found)}")
            cells.append(_cell(found.pop(), reasons))
        lines.append(f"| {call} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    notes = [f"{number}. {reason}" for number, reason in enumerate(reasons, start=1)]
    return "\n".join([*lines, "", "Refused, in these words:", "", *notes])


def _cell(reason: str, reasons: list[str]) -> str:
    if not reason:
        return "yes"
    if reason not in reasons:
        reasons.append(reason)
    return f"no ({reasons.index(reason) + 1})"


def fill_page() -> None:
    PAGE.write_text(fill(PAGE.read_text(), {"networks-and-calls": write_table()}))
