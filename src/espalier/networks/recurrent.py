"""nn.LSTM and nn.GRU as layers: any depth, one direction or two, with or without projections."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from espalier.errors import ModelError
from espalier.nets.lstm import LSTMLayer
from espalier.networks.blocks import GRULayer, LSTMDirection, Recurrent


def read_recurrent(modules: Sequence[tuple[str, nn.Module]]) -> Recurrent:
    """The layers of one module, or of several in their order."""
    layers: list[tuple[LSTMDirection | GRULayer, ...]] = []
    for name, module in modules:
        if not isinstance(module, nn.LSTM | nn.GRU):
            raise ModelError(f"{name} is a {type(module).__name__}; an LSTM or GRU is expected")
        suffixes = ["", "_reverse"] if module.bidirectional else [""]
        layers += [
            tuple(_direction(module, f"_l{number}{suffix}") for suffix in suffixes)
            for number in range(module.num_layers)
        ]
    return Recurrent(tuple(layers))


def _direction(module: nn.LSTM | nn.GRU, suffix: str) -> LSTMDirection | GRULayer:
    def get(name: str) -> Tensor:
        return module.get_parameter(name + suffix).detach()

    from_input, from_hidden = get("weight_ih"), get("weight_hh")
    zeros = from_input.new_zeros(len(from_input))
    biases = (get("bias_ih"), get("bias_hh")) if module.bias else (zeros, zeros)
    if isinstance(module, nn.GRU):
        return GRULayer(from_input, from_hidden, *biases)
    projection = get("weight_hr") if module.proj_size else None
    return LSTMDirection(LSTMLayer(from_input, from_hidden, biases[0] + biases[1]), projection)
