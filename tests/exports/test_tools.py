"""The examples of docs/tools.md: tracing, interchange, attribution and patterns by other tools."""

import pytest
import torch

import espalier as es

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries

BASE, SOURCE = torch.tensor([[2, 1, 0, 1]]), torch.tensor([[2, 0, 0, 1]])


@pytest.fixture(scope="module")
def plain():
    """Parity: layer i of block i adds bit i, once the position before is done."""
    return es.compile_program(es.zoo.load("parity-sequential-relative").program).unroll(4, 4)


@pytest.fixture(scope="module")
def expected(plain):
    """The base with what the heads of block 1 added in the source."""
    seen = []
    hook = plain.blocks[1].attn.register_forward_hook(lambda _, __, out: seen.append(out))
    plain(SOURCE)
    hook.remove()
    hook = plain.blocks[1].attn.register_forward_hook(lambda _, __, ___: seen[0])
    found = plain(BASE).detach()
    hook.remove()
    assert not torch.equal(found, plain(BASE))
    return found


def test_nnsight_traces_and_patches(plain, expected) -> None:
    nnsight = pytest.importorskip("nnsight")
    model = nnsight.NNsight(plain)
    with model.trace(SOURCE):
        pattern = model.blocks[0].attn.softmax.output.save()
        added = model.blocks[1].attn.output.save()
    with model.trace(BASE):
        model.blocks[1].attn.output[:] = added
        logits = model.output.save()
    assert pattern.shape == (1, len(plain.config.head_labels), 5, 5)
    assert torch.equal(logits, expected)


def test_pyvene_interchanges(plain, expected) -> None:
    pyvene = pytest.importorskip("pyvene")
    swap = pyvene.VanillaIntervention(embed_dim=plain.config.d_model)
    model = pyvene.IntervenableModel(
        {"component": "blocks[1].attn.output", "intervention": swap}, model=plain
    )
    places = [[list(range(5))]]
    _, logits = model({"tokens": BASE}, [{"tokens": SOURCE}], {"sources->base": (places, places)})
    assert torch.equal(logits, expected)


def test_captum_attributes(plain) -> None:
    captum = pytest.importorskip("captum.attr")

    def odd(tokens):
        return plain(tokens)[:, 3, 1]

    parts = captum.FeatureAblation(odd).attribute(BASE, baselines=torch.tensor([[2, 0, 0, 0]]))
    assert parts.tolist() == [[0, -1, 0, -1]]  # each bit that is 1 makes the parity odd without it
    layer = captum.LayerIntegratedGradients(odd, plain.embed)
    parts, gap = layer.attribute(BASE, baselines=SOURCE, return_convergence_delta=True)
    assert parts.sum(-1)[0].tolist() == [0, 0, -1, 0, 0]  # <bos>, START, and the bit that differs
    assert abs(float(gap)) < 1e-6


def test_circuitsvis_draws_patterns(plain) -> None:
    circuitsvis = pytest.importorskip("circuitsvis")
    seen = []
    hook = plain.blocks[0].attn.softmax.register_forward_hook(lambda *call: seen.append(call[2]))
    plain(BASE)
    hook.remove()
    names = plain.config.token_labels
    drawn = circuitsvis.attention.attention_heads(
        seen[0][0].detach(),
        ["<bos>", *(names[token] for token in BASE[0].tolist())],
        list(plain.config.head_labels),
    )
    assert all(name in str(drawn) for name in plain.config.head_labels)
