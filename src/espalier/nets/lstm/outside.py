"""Language models from elsewhere: every tensor is used, or refused by name.

A module's parts are found by their types, whatever their names, and what is made of it is checked:
its own logits on random tokens must be ours. A state dict cannot be run, so its names must be
those of the common layout (encoder, rnn, decoder); where they are not, a renaming is suggested.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from espalier.errors import ModelError, listed
from espalier.nets.lstm.model import LanguageModel, LSTMShape

Tensors = dict[str, Tensor]
PARTS: dict[type[nn.Module], str] = {nn.Embedding: "encoder", nn.LSTM: "rnn", nn.Linear: "decoder"}
# What logits in float32 may differ by, relative to the largest; those of a narrower type by more.
CLOSE, CLOSE_IN_HALF = 1e-4, 5e-2


def tensors_of(module: nn.Module) -> Tensors:
    """The tensors of an embedding, an LSTM and a linear layer under the common names."""
    if isinstance(module, LanguageModel):
        return dict(module.state_dict())
    found: dict[str, str] = {}
    for name, part in module.named_modules():
        kind = next((kind for type_, kind in PARTS.items() if isinstance(part, type_)), None)
        if kind in found:
            raise ModelError(
                f"it has two modules for the {kind}, {found[kind]!r} and {name!r}; one embedding, "
                f"one LSTM and one linear layer are expected"
            )
        if kind is not None:
            found[kind] = name
    own = module.state_dict(keep_vars=True)
    named = {
        f"{kind}.{key.removeprefix(f'{name}.')}": key
        for kind, name in found.items()
        for key in own
        if key.startswith(f"{name}.")
    }
    _refuse(set(own) - set(named.values()), module)
    return {name: own[key].detach() for name, key in named.items()}


def _refuse(names: set[str], module: nn.Module) -> None:
    if names:
        holder = module.get_submodule(min(names).rpartition(".")[0])
        raise ModelError(
            f"it cannot be read as embedding, LSTM and linear layer: {listed(sorted(names))} would "
            f"be left out; the first is of a {type(holder).__name__}"
        )


def check_names(tensors: Mapping[str, Tensor]) -> None:
    """Refuse what is not an embedding, LSTM layers and a linear layer, for what it is."""
    layer = r"(weight|bias)_[ih]h_l\d+"
    for name in tensors:
        if re.fullmatch(rf"rnn\.{layer}_reverse", name):
            raise ModelError(f"{name} is of a second direction; es.network takes such a module")
        if re.fullmatch(r"rnn\.weight_hr_l\d+", name):
            raise ModelError(f"{name} is a projection; es.network takes a module that has them")
    known = rf"encoder\.weight|decoder\.(weight|bias)|rnn\.{layer}"
    needed = ("encoder.weight", "rnn.weight_ih_l0", "rnn.weight_hh_l0")
    absent = [name for name in needed if name not in tensors]
    unused = [name for name in tensors if not re.fullmatch(known, name)]
    if absent:
        raise ModelError(
            f"it is not an LSTM language model of encoder, rnn and decoder: it lacks "
            f"{', '.join(absent)}; it has {listed(sorted(tensors), most=8)}{_renaming(tensors)}"
        )
    if unused:
        raise ModelError(
            f"it has tensors that an embedding, an LSTM and a linear layer have not: they would "
            f"be left out: {listed(unused)}"
        )


def _renaming(tensors: Mapping[str, Tensor]) -> str:
    """Which prefixes could be meant by encoder, rnn and decoder, as something to say."""
    recurrent = sorted({n.rpartition(".")[0] for n in tensors if n.endswith("weight_hh_l0")})
    if len(recurrent) > 1:
        return f"; {listed(recurrent)} are LSTMs of their own: es.network takes such a module"
    if any(name.endswith("_raw") for name in tensors):
        return "; weight_hh_l0_raw is a weight before it is dropped: name it weight_hh_l0"
    matrices = [name for name, tensor in tensors.items() if tensor.dim() == 2]
    outer = [name for name in matrices if not re.search(r"_l\d+", name)]
    biased = [name for name in outer if name.removesuffix("weight") + "bias" in tensors]
    plain = [name for name in outer if name not in biased]
    if len(recurrent) != 1 or len(plain) + len(biased) not in (1, 2) or not plain:
        return ""
    renamed = {plain[0]: "encoder.weight", f"{recurrent[0]}.": "rnn."}
    rest = [*plain[1:], *biased]
    renamed |= {name.removesuffix("weight"): "decoder." for name in rest}
    pairs = ", ".join(f"{old} to {new}" for old, new in renamed.items() if old != new)
    return f". Rename {pairs}?"


def infer_shape(tensors: Mapping[str, Tensor]) -> LSTMShape:
    """The sizes of a language model in the common layout: encoder, rnn, decoder."""
    check_names(tensors)
    for name in ("encoder.weight", "rnn.weight_ih_l0", "rnn.weight_hh_l0"):
        if tensors[name].dim() != 2:
            found = tuple(tensors[name].shape)
            raise ModelError(f"{name} has shape {found}; a matrix is expected")
    size, width = tensors["encoder.weight"].shape
    rows, hidden = tensors["rnn.weight_hh_l0"].shape
    if rows != 4 * hidden:
        raise ModelError(
            f"rnn.weight_hh_l0 is {rows} x {hidden}; an LSTM has 4 gates, "
            f"{4 * hidden} x {hidden}. Is its rnn a GRU or a plain RNN? es.network takes a GRU"
        )
    layers = sum(bool(re.fullmatch(r"rnn\.weight_hh_l\d+", name)) for name in tensors)
    decoder = tensors.get("decoder.weight")
    tied = decoder is None or decoder.data_ptr() == tensors["encoder.weight"].data_ptr()
    return LSTMShape(size, hidden, layers, None if width == hidden else width, tied)


def fill(model: LanguageModel, tensors: Mapping[str, Tensor]) -> LanguageModel:
    """The model with these weights; biases that the model did not have are zero."""
    own = {name: tensor.float() for name, tensor in tensors.items()}
    if model.shape.tied:
        own["decoder.weight"] = own["encoder.weight"]
    expected = model.state_dict()
    for name, tensor in expected.items():
        if "bias" in name and name not in own:
            own[name] = torch.zeros_like(tensor)
        if name not in own or own[name].shape != tensor.shape:
            found = f"is {tuple(own[name].shape)}" if name in own else "is missing"
            raise ModelError(f"{name} {found}; {tuple(tensor.shape)} is expected: its own sizes")
    for name in own:
        if name not in expected:
            raise ModelError(f"it has {name}, but {model.shape.layers} layers; name them in order")
    model.load_state_dict(own)
    return model.eval()


@torch.no_grad()
def check_logits(
    module: nn.Module, ours: Float[Tensor, "B N V"], tokens: Int[Tensor, "B N"]
) -> None:
    """Refuse a module whose own logits on `tokens` are not ours."""
    theirs = own_logits(module, tokens, like=ours)
    ours = ours.log_softmax(-1)
    apart, size = (theirs - ours).abs().max(), ours.abs().max()
    narrow = any(weights.element_size() < 4 for weights in module.parameters())
    if not apart <= (CLOSE_IN_HALF if narrow else CLOSE) * (1 + size):
        raise ModelError(
            f"its own logits on random tokens are off by {float(apart):.2g} from its parts' "
            f"alone: its forward does something else besides, which would be left out"
        )


def own_logits(
    module: nn.Module, tokens: Int[Tensor, "B N"], *, like: Float[Tensor, "B N V"]
) -> Float[Tensor, "B N V"]:
    """What a module makes of tokens, as logarithms of probabilities, the batch first."""
    batch_first = is_batch_first(module)
    given = tokens if batch_first else tokens.T
    found: Any = call_in_evaluation(module, given)
    while isinstance(found, tuple | list):
        found = found[0]
    found = getattr(found, "logits", found)
    if not isinstance(found, Tensor) or found.numel() != like.numel():
        shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise ModelError(f"its forward gives {shape}; logits {tuple(like.shape)} are expected")
    logits: Tensor = found.reshape(*given.shape, -1).to(like)
    return (logits if batch_first else logits.transpose(0, 1)).log_softmax(-1)


def is_batch_first(module: nn.Module) -> bool:
    """Whether a module takes sequences as rows, by what torch's own modules in it do."""
    kinds = (nn.LSTM, nn.GRU, nn.MultiheadAttention)
    return all(one.batch_first for one in module.modules() if isinstance(one, kinds))


def call_in_evaluation(module: nn.Module, given: Tensor) -> object:
    """The result of its forward in evaluation, with or without a state to continue from."""
    modes = {one: one.training for one in module.modules()}
    module.eval()
    given = given.to(next((weights.device for weights in module.parameters()), given.device))
    try:
        with warnings.catch_warnings():  # torch's warnings about itself are of no use
            warnings.simplefilter("ignore")
            try:
                return module(given)
            except TypeError:
                return module(given, None)
    except Exception as error:
        raise ModelError(
            f"its forward cannot be run on tokens {tuple(given.shape)} to compare its logits with "
            f"ours ({type(error).__name__}: {error}); give its parts: its state_dict(), or "
            f"es.network(its nn.LSTM, embedding=..., decoder=...)"
        ) from error
    finally:
        for one, mode in modes.items():
            one.training = mode
