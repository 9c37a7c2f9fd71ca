"""The parts of a small BERT by our rules and by the authors' code of DecompX, on the same weights.

    git clone https://github.com/mohsenfayyaz/DecompX PATH
    python -m benchmarks.peer_decompx PATH

Their encoder is run with biases in a token of their own (`include_bias_token`), and with its
default, biases shared among the words by dot products. Imports from an older transformers that are
not needed here are stubbed.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import torch
import transformers.modeling_utils
import transformers.utils

import espalier as es
from espalier.decomposition.network_parts import divide
from espalier.decomposition.rules import read_rules

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from any_networks import module


def _unchanged(*_, **__):
    return lambda function: function


def authors(path: str):
    """Their modules: the encoder of BERT, and its settings."""
    sys.path.insert(0, path)
    for name in ("apply_chunking_to_forward", "find_pruneable_heads_and_indices"):
        setattr(transformers.modeling_utils, name, None)
    transformers.modeling_utils.prune_linear_layer = None
    for name in ("code_sample_docstrings", "start_docstrings", "start_docstrings_to_model_forward"):
        setattr(transformers.utils, f"add_{name}", _unchanged)
    transformers.utils.replace_return_docstrings = _unchanged
    return import_module("src.modeling_bert"), import_module("src.decompx_utils").DecompXConfig


def largest(
    theirs, settings, dtype: torch.dtype, *, bias_token: bool, value_bias: bool
) -> tuple[float, float]:
    """The largest difference of a word's part, relative to its state; and of their sum from it."""
    model = module("bert").to(dtype).eval()
    if not value_bias:
        torch.nn.init.zeros_(model.bert.encoder.layer[0].attention.self.value.bias)
    net, config = es.network(model), model.config
    config.add_cross_attention, config.position_embedding_type = False, "absolute"
    encoder = theirs.BertEncoder(config).to(dtype).eval()
    encoder.load_state_dict(model.bert.encoder.state_dict())
    options = settings(
        include_bias_token=bias_token,
        bias_decomp_type=None if bias_token else "absdot",
        aggregation="vector",
        include_classifier_w_pooler=False,
        output_aggregated="vector",
    )
    worst = sums = 0.0
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        inputs = net.embed(torch.randint(10, (1, 7), generator=generator))
        with torch.no_grad():
            found = encoder(inputs, decompx_config=options, return_dict=False)
        vectors = next(one for one in found if hasattr(one, "aggregated")).aggregated[0][0]
        ours = divide(net, inputs[0], torch.eye(7).bool(), rules=read_rules("decompx"))
        size = ours.whole.norm(dim=-1)
        apart = (vectors[:, :7].transpose(0, 1) - ours.relevant).norm(dim=-1) / size
        off = (vectors.sum(dim=1) - ours.whole).norm(dim=-1) / size
        worst, sums = max(worst, float(apart.max())), max(sums, float(off.max()))
    return worst, sums


def main() -> None:
    theirs, settings = authors(sys.argv[1])
    for dtype in (torch.float32, torch.float64):
        for bias_token, value_bias in ((True, False), (True, True), (False, True)):
            with_token = "biases apart" if bias_token else "biases shared by dot products"
            first = "with" if value_bias else "without"
            worst, sums = largest(
                theirs, settings, dtype, bias_token=bias_token, value_bias=value_bias
            )
            print(
                f"{dtype}, {with_token}, {first} a bias of the first layer's values: "
                f"parts {worst:.1e}, their sum {sums:.1e}"
            )


if __name__ == "__main__":
    main()
