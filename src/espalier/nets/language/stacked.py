"""Many language models of one shape, whatever their architecture, as one computation.

Weights have the names of a model's own and a first axis E of members, as `nets.lstm.members` has
them. A state is a tuple: hidden and cell states of LSTMs, hidden states of GRUs, of Transformers
the tokens before, of which they read as many as there is room for.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from espalier.nets.language.gru import recur
from espalier.nets.language.models import check_length, position_rows
from espalier.nets.language.shapes import CausalShape, GRUShape
from espalier.nets.lstm import LSTMShape, StackedWeights, members, product
from espalier.nets.noise import Noise

State = tuple[Tensor, ...]
Inputs = Float[Tensor, "E N B D"]
Stream = Float[Tensor, "E B N D"]


def state_names(shape: LSTMShape) -> tuple[str, ...]:
    """What is carried from one window of training to the next."""
    if isinstance(shape, CausalShape):
        return ()
    return ("hidden",) if isinstance(shape, GRUShape) else ("hidden", "cell")


def initial_state(weights: StackedWeights, shape: LSTMShape, batch: int) -> State:
    """Zeros of (layers, members, batch, hidden) for each part of the state; no tokens before."""
    size = len(weights["encoder.weight"])
    if isinstance(shape, CausalShape):
        device = weights["encoder.weight"].device
        return (torch.zeros(size, 0, batch, dtype=torch.int64, device=device),)
    return members.initial_state(weights, shape, batch)[: len(state_names(shape))]


def read(
    weights: StackedWeights,
    shape: LSTMShape,
    tokens: Int[Tensor, "E N B"],
    state: State,
    *,
    noise: Noise | None = None,
) -> tuple[Float[Tensor, "E N B H"], State]:
    """The top layer's hidden states, and the state after; with `noise`, dropped out."""
    match shape:
        case CausalShape():
            return _read_transformer(weights, shape, tokens, state, noise)
        case GRUShape():
            embedded = members.look_up(weights["encoder.weight"], tokens)
            return _read_gru(weights, shape, embedded, state, noise)
    return members.read(weights, tokens, (state[0], state[1]), noise=noise)


def _read_gru(
    weights: StackedWeights, shape: LSTMShape, embedded: Inputs, state: State, noise: Noise | None
) -> tuple[Float[Tensor, "E N B H"], State]:
    drop = (lambda x, _: x) if noise is None else noise.drop
    below, lasts = drop(embedded, 0), []
    for number, before in enumerate(state[0]):
        above = _gru_layer(weights, number, below, before)
        lasts.append(above[:, -1])
        below = drop(above, number + 1)
    return below, (torch.stack(lasts),)


def _gru_layer(weights: StackedWeights, number: int, below: Inputs, before: Tensor) -> Tensor:
    from_input, from_hidden, input_bias, hidden_bias = gru_weights(weights, number)
    flat = product(below.flatten(1, 2), from_input.mT) + input_bias.unsqueeze(1)
    return recur(flat.view(*below.shape[:3], -1), from_hidden, hidden_bias, before)


def gru_layers(
    weights: StackedWeights, shape: LSTMShape, tokens: Int[Tensor, "E N B"]
) -> list[Float[Tensor, "E N B H"]]:
    """The hidden states of every layer of GRUs at every step, from zero."""
    below, found = members.look_up(weights["encoder.weight"], tokens), []
    for number, before in enumerate(initial_state(weights, shape, tokens.shape[2])[0]):
        found.append(_gru_layer(weights, number, below, before))
        below = found[-1]
    return found


def gru_weights(weights: StackedWeights, layer: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Input and recurrent weights of a layer, and their biases."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    first, second, third, fourth = (weights[f"rnn.{name}_l{layer}"] for name in names)
    return first, second, third, fourth


def _read_transformer(
    weights: StackedWeights,
    shape: CausalShape,
    tokens: Int[Tensor, "E N B"],
    state: State,
    noise: Noise | None,
) -> tuple[Float[Tensor, "E N B H"], State]:
    size = tokens.shape[1]
    check_length(shape, size)
    before = state[0][:, max(0, state[0].shape[1] - (shape.longest - size)) :]
    whole = torch.cat([before, tokens], dim=1)
    embedded = members.look_up(weights["encoder.weight"], whole.transpose(1, 2))
    *_, found = streams(weights, shape, embedded, noise=noise)
    return found[:, :, -size:].transpose(1, 2), (whole,)


def streams(
    weights: StackedWeights,
    shape: CausalShape,
    embedded: Stream,
    *,
    noise: Noise | None = None,
    nudge: Stream | None = None,
) -> list[Stream]:
    """A Transformer's stream before its first layer and after each; the last one is normed.

    A `nudge` is added to what enters the last layer.
    """
    drop = (lambda x, _: x) if noise is None else noise.drop
    found = [drop(inputs_of(weights, shape, embedded), 0)]
    for layer in range(shape.layers):
        own = f"body.layers.{layer}."
        x = found[-1] if nudge is None or layer < shape.layers - 1 else found[-1] + nudge
        x = x + drop(_attend(weights, own, _norm(weights, f"{own}norm1", x), shape), 2 * layer + 1)
        inner = functional.gelu(_linear(weights, f"{own}linear1", _norm(weights, f"{own}norm2", x)))
        found.append(x + drop(_linear(weights, f"{own}linear2", inner), 2 * layer + 2))
    found[-1] = _norm(weights, "body.norm", found[-1])
    return found


def inputs_of(weights: StackedWeights, shape: CausalShape, embedded: Stream) -> Stream:
    """What enters a Transformer's body: embeddings and positions."""
    table = weights.get("positions.weight")
    places = position_rows(shape, table, embedded.shape[2], embedded)
    return embedded + (places if table is None else places.unsqueeze(1))


def _norm(weights: StackedWeights, name: str, x: Stream) -> Stream:
    scale, shift = (weights[f"{name}.{part}"][:, None, None] for part in ("weight", "bias"))
    return torch.addcmul(shift, functional.layer_norm(x, x.shape[-1:]), scale)


def _linear(weights: StackedWeights, name: str, x: Stream) -> Float[Tensor, "E B N J"]:
    return _product(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def _product(
    x: Stream, matrix: Float[Tensor, "E J D"], bias: Float[Tensor, "E J"]
) -> Float[Tensor, "E B N J"]:
    flat = torch.baddbmm(bias.unsqueeze(1), x.flatten(1, 2), matrix.mT)
    return flat.view(*x.shape[:3], -1)


def _attend(weights: StackedWeights, own: str, x: Stream, shape: CausalShape) -> Stream:
    """What attention adds to the stream: every token sees those before it and itself."""
    matrix, bias = (weights[f"{own}self_attn.in_proj_{part}"] for part in ("weight", "bias"))
    parts = _product(x, matrix, bias).unflatten(-1, (3, shape.heads, -1))
    query, key, value = parts.flatten(0, 1).permute(2, 0, 3, 1, 4)
    carried = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    joined = carried.transpose(1, 2).reshape(x.shape)
    return _linear(weights, f"{own}self_attn.out_proj", joined)
