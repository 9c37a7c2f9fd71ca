"""Networks for a page: the interdependence of a sentence's words, and one pair taken apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from espalier.data import Parsed, read_conllu
from espalier.decomposition import (
    Dependence,
    InputHessian,
    Occlusion,
    PairMatrix,
    ShapleyInteraction,
    interdependence,
)
from espalier.errors import ConfigError, DataError, EspalierError, nearest
from espalier.explorer.session import ENGLISH, Session, number_of, text_of
from espalier.loading import load
from espalier.nets.language import english_model, models_of
from espalier.nets.lstm import LanguageModel, read_tensors
from espalier.networks import network
from espalier.runs import MANIFEST, RunFolder

Answer = dict[str, Any]

PACKAGED: dict[str, Callable[[], Any]] = {
    ENGLISH: english_model,
    f"{ENGLISH} transformer": lambda: english_model("transformer"),
}
MOST_WORDS = 60
MOST_SENTENCES = 300
TOP = 5
ALLOCATIONS = {
    "papers": "decomposition, the papers' allocation",
    "murdoch": "decomposition, Murdoch's allocation",
    "as-printed": "decomposition, as printed",
    "generalised": "decomposition, generalised",
}
BASELINES: dict[str, tuple[str, Any]] = {
    "hessian": ("second derivative of the input", InputHessian()),
    "occlusion": ("occlusion", Occlusion()),
    "shapley": ("Shapley interaction", ShapleyInteraction()),
}


def list_models(session: Session, asked: Answer) -> Answer:
    """The models, with the checkpoints of those that are runs; the methods; parsed sentences."""
    return {
        "models": [
            *({"name": name, "checkpoints": []} for name in (*PACKAGED, *session.models)),
            *_runs(session),
        ],
        "methods": [*ALLOCATIONS.items(), *((name, text) for name, (text, _) in BASELINES.items())],
        "sentences": [" ".join(one.words) for one in _parses(session)],
    }


def _runs(session: Session) -> list[Answer]:
    """The runs whose checkpoints hold language models."""
    root = Path(session.runs)
    found = []
    for manifest in sorted(root.rglob(MANIFEST)) if session.runs and root.is_dir() else []:
        folder = RunFolder(manifest.parent)
        try:
            about, checkpoints = folder.manifest() or {}, list(folder.checkpoints())
        except EspalierError:  # the view of runs shows what is wrong with it
            continue
        if about.get("kind") in ("scaffold", "text") and checkpoints:
            name = f"run {manifest.parent.relative_to(root)}"
            found.append({"name": name, "checkpoints": checkpoints})
    return found


def _parses(session: Session) -> list[Parsed]:
    if not session.treebank:
        return []
    return session.once(
        ("parses", session.treebank), lambda: list(read_conllu(session.treebank))[:MOST_SENTENCES]
    )


def _model(session: Session, asked: Answer) -> Any:
    """The model that a page names, at a checkpoint where it is a run."""
    name, checkpoint = asked.get("model") or ENGLISH, asked.get("checkpoint") or ""
    known = [*PACKAGED, *session.models, *(one["name"] for one in _runs(session))]
    if name not in known:
        raise ConfigError(f"there is no model {name!r} here; {nearest(name, known)}")
    if name in PACKAGED:
        return session.once(("packaged", name), PACKAGED[name])
    if name in session.models:
        return session.once(("network", name), lambda: load(name))
    folder = session.folder(str(name).removeprefix("run "))
    known = list(RunFolder(folder).checkpoints())
    if checkpoint and checkpoint not in known:
        raise ConfigError(f"the run has no checkpoint {checkpoint!r}; {nearest(checkpoint, known)}")
    RunFolder(folder).check_checkpoint(checkpoint or known[-1])
    file = folder / f"{checkpoint or known[-1]}.safetensors"
    # The first member of an ensemble, or the only model.
    return session.once(("network", str(file)), lambda: models_of(*read_tensors(file))[0])


def _options(model: Any, asked: Answer) -> Answer:
    method = asked.get("method") or "papers"
    layer, space = asked.get("layer", -1), asked.get("space") or "hidden"
    if type(layer) is not int or space not in ("hidden", "logits"):
        raise DataError(f"layer is a number and space hidden or logits; found {layer!r}, {space!r}")
    if method == "hessian" and not (isinstance(model, LanguageModel) and layer == -1):
        raise ConfigError("the second derivative is that of an LSTM's last layer; choose another")
    if method in ALLOCATIONS:
        options: Answer = {"allocation": method}
    elif method in BASELINES:
        options = {"method": BASELINES[method][1]}
    else:
        raise ConfigError(f"there is no method {method!r}; {nearest(method, ALLOCATIONS)}")
    return options | {"space": space} | ({} if layer == -1 else {"layer": layer})


def _words(model: Any, asked: Answer) -> list[Any]:
    words = text_of(asked, "sentence").split()
    if not 2 <= len(words) <= MOST_WORDS:
        raise DataError(f"a sentence has 2 to {MOST_WORDS} words; found {len(words)}")
    if getattr(model, "vocabulary", None) is None and all(word.isdecimal() for word in words):
        return [int(word) for word in words]
    return words


def matrix_of(session: Session, asked: Answer) -> PairMatrix:
    """The number of every two words."""
    model = _model(session, asked)
    words = _words(model, asked)
    key = ("pairs", *(str(asked.get(name)) for name in _KEYS))
    found: PairMatrix = session.once(
        key, lambda: interdependence(model, words, **_options(model, asked))
    )
    return found


_KEYS = ("model", "checkpoint", "sentence", "method", "layer", "space")


def show_sentence(session: Session, asked: Answer) -> Answer:
    """Every pair of a sentence, which words are unknown, its parse if there is one."""
    model, found = _model(session, asked), matrix_of(session, asked)
    parse = next((one for one in _parses(session) if one.words == found.words), None)
    return {
        "words": list(found.words),
        "unknown": list(found.unknown_at),
        "values": [[_number(x) for x in row] for row in found.values],
        "method": str(found.method),
        "undefined": found.undefined,
        "layers": network(model).layers,
        "parse": parse and {"heads": list(parse.heads), "relations": list(parse.relations)},
    }


def show_pair(session: Session, asked: Answer) -> Answer:
    """What each of two words contributes, what both do beyond that, and what each predicts."""
    model = _model(session, asked)
    words, options = _words(model, asked), _options(model, asked)
    if "method" in options:
        raise ConfigError("a pair is taken apart by decomposition; choose an allocation")
    a, b = (number_of(asked, name, most=len(words) - 1) for name in ("a", "b"))
    found: Dependence = interdependence(model, words, a=[a], b=[b], **options)
    one, other, both = found.parts
    rows = [("a", one), ("b", other), ("both", both)]
    is_last = options.get("layer", -1) in (-1, network(model).layers)  # others predict nothing
    return {
        "value": _number(float(found)),
        "at": found.at,
        "words": [str(found.words[place]) for place in (a, b)],
        "interaction": _number(float(found.interaction.norm())),
        "joint": _number(float(found.joint.norm())),
        "parts": [
            {
                "name": name,
                "norm": _number(float(part.relevant[found.at].norm())),
                "next": _next(model, part.probabilities()[found.at]) if is_last else [],
            }
            for name, part in rows
        ],
        "whole": _next(model, _prediction(model, words)[found.at]),
    }


@torch.no_grad()
def _prediction(model: Any, words: list[Any]) -> Tensor:
    """What the model itself predicts after each word."""
    logits: Tensor = model(torch.tensor([network(model).read(words).ids]))[0]
    return logits[0].softmax(-1)


def _next(model: Any, probabilities: Tensor) -> list[list[Any]]:
    chosen = probabilities.topk(min(TOP, len(probabilities)))
    numbers = chosen.indices.tolist()
    words = getattr(model, "vocabulary", None)
    names = map(str, numbers) if words is None else words.decode(numbers)
    return [[name, round(p, 5)] for name, p in zip(names, chosen.values.tolist(), strict=True)]


def _number(value: float) -> float | None:
    return float(f"{value:.6g}") if np.isfinite(value) else None
