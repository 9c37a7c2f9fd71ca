"""transformers: a folder with weights, a tokenizer and a card, opened without foreign code."""

from __future__ import annotations

import os
import random
from pathlib import Path

import torch

from espalier.compiler import CompiledModel
from espalier.errors import CompileError, ModelError
from espalier.exports.source import absent
from espalier.files import as_path
from espalier.nets import PlainTransformer
from espalier.version import __version__

# Inputs on which the exported model is compared, and rules that the card shows.
CHECKED, SHOWN = 100, 200


def to_transformers(
    model: CompiledModel,
    folder: str | os.PathLike[str],
    *,
    layers: int,
    positions: int | None = None,
) -> Path:
    """Write `model.unroll(layers, positions)` as a folder of transformers; the folder.

    `AutoModel.from_pretrained` and `AutoTokenizer.from_pretrained` open it once
    `espalier.exports.pretrained` has been imported, which registers its classes. Before it is
    written, it is compared with the compiled model on random inputs.

    >>> import espalier as es
    >>> model = es.compile_program(es.zoo.load("parity-sequential-relative").program)
    >>> to_transformers(model, getfixture("tmp_path") / "parity", layers=4).name  # doctest: +SKIP
    'parity'
    """
    if not isinstance(model, CompiledModel):
        raise ModelError(f"a compiled model is needed; found {type(model).__name__}")
    try:
        from espalier.exports.pretrained import EspalierTokenizer, pretrained
    except ImportError as error:
        raise absent(error, "transformers", "transformers") from error
    plain, place = model.unroll(layers, positions).cpu(), as_path(folder)
    _check(model, plain, layers)
    names = dict(enumerate(plain.config.output_labels))
    marks = {"pad_token_id": plain.config.pad_id, "bos_token_id": plain.config.bos_id}
    made = pretrained(plain, id2label=names, **marks)
    text = model.program.text
    tokenizer = EspalierTokenizer(
        tokens=list(plain.config.token_labels), text=None if text is None else text.to_record()
    )
    made.save_pretrained(place)
    tokenizer.save_pretrained(place)
    (place / "README.md").write_text(card(model, plain, layers), encoding="utf-8")
    return place


def _check(model: CompiledModel, plain: PlainTransformer, layers: int) -> None:
    source, most = random.Random(0), plain.config.n_ctx - 1
    batch = [
        [source.randrange(model.program.input_range) for _ in range(source.randint(1, most))]
        for _ in range(CHECKED)
    ]
    with torch.no_grad():
        found = plain(plain.pad(batch)).argmax(-1)
    for row, run in enumerate(model.run_many(batch, max_layers=layers)):
        if found[row, : len(batch[row])].tolist() != run.outputs:
            raise CompileError(f"the unrolled model differs from the compiled one on {batch[row]}")


def card(model: CompiledModel, plain: PlainTransformer, layers: int) -> str:
    """What the program is, its rules, how the weights were made and checked, how to use them."""
    program, sizes, text = model.program, plain.config, model.program.text
    rules = [f"- `{rule}`" for rule in program.rules if not rule.is_reset]
    more = [f"- and {len(rules) - SHOWN:,} more"] if len(rules) > SHOWN else []
    return _CARD.format(
        output=program.output_name,
        version=__version__,
        state="as compiled" if model.is_as_compiled else "edited since they were compiled",
        blocks=len(sizes.plan),
        layers=layers,
        sizes=f"{sizes.d_model} dimensions, {sizes.n_heads} heads, {sizes.d_mlp} units",
        positions=sizes.n_ctx - 1,
        direction="causal" if sizes.causal else "bidirectional",
        example=(text.example if text is not None else "") or " ".join(sizes.token_labels[:3]),
        checked=CHECKED,
        heads="\n".join(f"- `{name}`: {head}" for name, head in program.heads.items()),
        count=f"{len(rules):,}",
        rules="\n".join([*rules[:SHOWN], *more]),
    )


_CARD = """---
library_name: transformers
tags: [espalier, interpretability, compiled]
---
# A compiled program: `{output}`

A Transformer whose weights were compiled from a program by espalier {version}, not trained; they
are {state}. {blocks} blocks for {layers} layers of the program, {sizes}, inputs of up to
{positions} tokens, {direction} attention, no normalisation.

```python
from transformers import AutoModel, AutoTokenizer
import espalier.exports.pretrained  # registers the classes; no remote code

model = AutoModel.from_pretrained(FOLDER)
tokenizer = AutoTokenizer.from_pretrained(FOLDER)
inputs = tokenizer({example!r}, return_tensors="pt")
tokenizer.answer(model(**inputs).logits[0].argmax(-1))
```

## How it was verified

Its outputs equal those of the compiled network at every position of {checked} random inputs (seed
0), after {layers} layers; a sequence that halts earlier stays as it is. An input that needs more
layers is cut off there.

## Heads

{heads}

## Rules ({count})

{rules}
"""
