"""Against one Transformer written out position by position, head by head."""

import math

import pytest
import torch

import espalier as es
from espalier.nets.transformer import sublayers
from espalier.nets.transformer.biases import bucket
from espalier.nets.transformer.model import (
    TransformerShape,
    cast,
    decode,
    encode,
    random_transformers,
    read_out,
)

SIZES = {"width": 6, "hidden": 5, "heads": 2, "head_width": 3, "layers": 3, "longest": 9}
LENGTHS = torch.tensor([[5, 2, 4], [1, 5, 3]])


def shape_of(**more):
    return TransformerShape(7, 4, **(SIZES | more))


def weights_of(shape, seeds=(0, 1)):
    """With tables of relative biases and norms that matter."""
    weights = random_transformers(shape, seeds)
    source = torch.Generator().manual_seed(9)
    for name, tensor in weights.items():
        if name.endswith(("relative", "scale")):
            tensor += torch.randn(tensor.shape, generator=source)
    return weights


def tokens_of(length=5):
    return torch.randint(7, (2, 3, length), generator=torch.Generator().manual_seed(1))


def norm(z, scale):
    return z / (z.square().mean() + 1e-6).sqrt() * scale


def slow_bucket(offset, both_ways):
    buckets, side = 32, 0
    if both_ways:
        buckets, side = 16, 16 if offset > 0 else 0
    distance = abs(offset) if both_ways else max(0, -offset)
    if distance < buckets // 2:
        return side + distance
    share = math.log(distance / (buckets // 2)) / math.log(128 / (buckets // 2))
    return side + min(buckets - 1, buckets // 2 + int(share * (buckets - buckets // 2)))


def slow_attention(w, prefix, layer, asking, asked, bias):
    """One attention sub-layer; `bias(head, i, j)` is None where j may not be seen."""
    outputs = []
    for i, z in enumerate(asking):
        carried = []
        for head in range(2):
            mine = slice(3 * head, 3 * head + 3)
            q, k, v = (w[f"{prefix}.{p}"][layer][:, mine] for p in ("query", "key", "value"))
            seen = [j for j in range(len(asked)) if bias(head, i, j) is not None]
            logits = [z @ q @ (asked[j] @ k) / math.sqrt(3) + bias(head, i, j) for j in seen]
            shares = torch.softmax(torch.stack(logits), 0)
            carried.append(sum(s * (asked[j] @ v) for s, j in zip(shares, seen, strict=True)))
        outputs.append(torch.cat(carried) @ w[f"{prefix}.output"][layer])
    return outputs


def slow_mlp(w, stack, layer, z):
    inner = norm(z, w[f"{stack}.mlp.scale"][layer]) @ w[f"{stack}.mlp.inner"][layer]
    cube = math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3)
    hidden = inner * (1 + torch.tanh(cube)) / 2
    return z + hidden @ w[f"{stack}.mlp.outer"][layer]


def relative(w, stack):
    def bias(head, i, j):
        if stack == "decoder" and j > i:
            return None
        table = w.get(f"{stack}.relative")
        return 0.0 if table is None else table[slow_bucket(j - i, stack == "encoder"), head]

    return bias


def slow_encode(w, shape, tokens):
    z = [w["embedding"][t] for t in tokens]
    if shape.positions == "absolute":
        z = [here + w["position"][i] for i, here in enumerate(z)]
    for layer in range(shape.layers):
        own = 0 if shape.shared else layer
        normed = [norm(here, w["encoder.self.scale"][own]) for here in z]
        added = slow_attention(w, "encoder.self", own, normed, normed, relative(w, "encoder"))
        z = [slow_mlp(w, "encoder", own, a + b) for a, b in zip(z, added, strict=True)]
    return [norm(here, w["encoder.final_scale"]) for here in z]


def slow_decode(w, shape, tokens, encoded):
    z = [w["embedding"][t] for t in tokens]
    for layer in range(shape.layers):
        own = 0 if shape.shared else layer
        normed = [norm(here, w["decoder.self.scale"][own]) for here in z]
        added = slow_attention(w, "decoder.self", own, normed, normed, relative(w, "decoder"))
        z = [a + b for a, b in zip(z, added, strict=True)]
        normed = [norm(here, w["decoder.cross.scale"][own]) for here in z]
        added = slow_attention(w, "decoder.cross", own, normed, encoded, lambda *_: 0.0)
        z = [slow_mlp(w, "decoder", own, a + b) for a, b in zip(z, added, strict=True)]
    return torch.stack([norm(h, w["decoder.final_scale"]) @ w["unembedding"] for h in z])


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("positions", ["relative", "absolute"])
def test_an_encoder_is_what_it_is_written_out(shared, positions):
    shape = shape_of(shared=shared, positions=positions)
    weights, tokens = weights_of(shape), tokens_of()
    stream = encode(weights, shape, tokens, lengths=LENGTHS).stream
    for member in range(2):
        own = {name: tensor[member] for name, tensor in weights.items()}
        for row in range(3):
            size = int(LENGTHS[member, row])
            slow = torch.stack(slow_encode(own, shape, tokens[member, row, :size].tolist()))
            torch.testing.assert_close(stream[member, row, :size], slow, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shared", [False, True])
def test_a_decoder_is_what_it_is_written_out(shared):
    shape = shape_of(shared=shared, decoder=True)
    weights, tokens, outputs = weights_of(shape), tokens_of(), tokens_of(4)
    logits = decode(weights, shape, outputs, encode(weights, shape, tokens, lengths=LENGTHS))
    for member in range(2):
        own = {name: tensor[member] for name, tensor in weights.items()}
        for row in range(3):
            given = tokens[member, row, : int(LENGTHS[member, row])].tolist()
            slow = slow_decode(
                own, shape, outputs[member, row].tolist(), slow_encode(own, shape, given)
            )
            torch.testing.assert_close(logits[member, row], slow, rtol=1e-4, atol=1e-5)


def test_small_products_are_products(monkeypatch):
    one, other = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 5, 6)
    torch.testing.assert_close(sublayers.small_products(one, other), one @ other)
    monkeypatch.setattr(sublayers, "TINY", 0)
    assert torch.equal(sublayers.small_products(one, other), one @ other)


def test_a_product_comes_back_as_any_other():
    source = torch.Generator().manual_seed(0)
    x, matrix, weights = (
        torch.randn(*size, generator=source, dtype=torch.float64, requires_grad=True)
        for size in ((2, 3, 4, 5), (2, 5, 6), (2, 3, 4, 6))
    )
    plain = torch.einsum("ebni,eij->ebnj", x, matrix)
    found = sublayers.product(x, matrix)
    torch.testing.assert_close(found, plain)
    torch.testing.assert_close(
        torch.autograd.grad((found * weights).sum(), (x, matrix)),
        torch.autograd.grad((plain * weights).sum(), (x, matrix)),
    )


def test_the_one_kernel_attends_as_the_products_do():
    source = torch.Generator().manual_seed(0)
    query, key, value, bias = (
        torch.randn(*size, generator=source)
        for size in ((2, 3, 4, 5, 8), (2, 3, 4, 6, 8), (2, 3, 4, 6, 8), (2, 1, 4, 5, 6))
    )
    for some in (bias, bias[:, :, :1, :1]):
        one = sublayers.on_cuda(query, key, value, some)
        torch.testing.assert_close(one, sublayers.in_full(query, key, value, some))


def test_buckets_are_t5s():
    offsets = torch.arange(-200, 201).unsqueeze(0)
    for both_ways in (True, False):
        slow = [slow_bucket(offset, both_ways) for offset in range(-200, 201)]
        fast = bucket(offsets, both_ways=both_ways)[0].tolist()
        near = [n for n, offset in enumerate(range(-200, 201)) if abs(offset) not in (64, 128)]
        assert [fast[n] for n in near] == [slow[n] for n in near]  # logs of powers of two may round
        assert max(fast) == 31


def test_a_watcher_sees_every_sub_layer():
    shape, seen = shape_of(shared=True), []
    weights, tokens = weights_of(shape), tokens_of()
    encoded = encode(
        weights,
        shape,
        tokens,
        lengths=LENGTHS,
        layers=2,
        watch=lambda layer, part, z: seen.append((layer, part, z)),
    )
    assert [(layer, part) for layer, part, _ in seen] == [
        (layer, part) for layer in (0, 1) for part in ("attention", "mlp")
    ]
    scale = weights["encoder.final_scale"][:, None, None]
    last = seen[-1][2]
    again = last / (last.square().mean(-1, keepdim=True) + 1e-6).sqrt() * scale
    torch.testing.assert_close(again, encoded.stream)


def test_short_mantissas_change_little():
    shape = shape_of()
    weights, tokens = weights_of(shape), tokens_of()
    exact = read_out(weights, encode(weights, shape, tokens, lengths=LENGTHS).stream)
    short = cast(weights, torch.bfloat16)
    assert all(torch.equal(short[name], weights[name].bfloat16()) for name in weights)
    rough = read_out(short, encode(short, shape, tokens, lengths=LENGTHS).stream)
    assert 0 < (exact - rough).abs().max() < 0.1 * exact.abs().max()


def test_biases_lie_as_fused_attention_wants_them(monkeypatch):
    """Numbers of a row contiguous: else CUDA would attend product by product."""
    shape, plain, seen = shape_of(decoder=True), sublayers.in_full, []

    def spy(query, key, value, bias):
        seen.append(bias.stride(-1))
        return plain(query, key, value, bias)

    monkeypatch.setattr(sublayers, "in_full", spy)
    weights, tokens = weights_of(shape), tokens_of()
    decode(weights, shape, tokens, encode(weights, shape, tokens, lengths=LENGTHS))
    assert seen == [1] * 9


def test_biases_begin_as_widely_as_asked():
    first, wide, none = (
        random_transformers(shape_of(heads=400, first_biases=spread), [0])["encoder.relative"]
        for spread in (None, 2.0, 0.0)
    )
    assert float(first.std()) == pytest.approx(math.sqrt(2 / (32 + 400)), rel=0.02)
    torch.testing.assert_close(wide, first / math.sqrt(2 / (32 + 400)) * 2)
    assert not none.any()


def test_what_cannot_be_is_refused():
    with pytest.raises(es.ModelError, match=r"first_biases is -1\.0; a spread is 0 or more"):
        shape_of(first_biases=-1.0)
    with pytest.raises(es.ModelError, match="heads is 0; it must be at least 1"):
        shape_of(heads=0)
    shape = shape_of(positions="absolute", longest=4)
    with pytest.raises(es.ModelError, match="has 5 positions; this model has embeddings for 4"):
        encode(weights_of(shape), shape, tokens_of(), lengths=LENGTHS)
