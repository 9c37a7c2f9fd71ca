"""`network`: any supported module as a `Network`, checked against its own logits.

Unknown architectures are refused by the name of the module that does not fit; no part of a module
is left out silently, since its own logits on random tokens are compared with those of the parts
that were found in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from espalier.errors import ModelError
from espalier.nets.compiled import FixedDepth
from espalier.nets.language import AnyModel
from espalier.nets.lstm import LanguageModel, check_logits, load_language_model
from espalier.nets.transformer import TransformerShape
from espalier.networks.blocks import Body, HeadPart, Linear
from espalier.networks.encoders import read_compiled, read_encoder, read_trained, watched
from espalier.networks.modules import Around, linear_of
from espalier.networks.network import Network
from espalier.networks.plain import logits, run
from espalier.networks.pretrained import read_pretrained
from espalier.networks.recurrent import read_recurrent
from espalier.networks.tokens import as_tokenizer

RANDOM = (2, 6)  # sequences and tokens that logits are compared on


def network(
    module: nn.Module | LanguageModel | Any,
    *,
    tokenizer: Any = None,
    embedding: Callable[[Tensor], Tensor] | None = None,
    decoder: nn.Linear | None = None,
    causal: bool | None = None,
    device: torch.device | str | None = None,
) -> Network:
    """A network for `decompose` and `interdependence`, of any origin.

    `module` is a language model with an nn.LSTM, nn.GRU or nn.TransformerEncoder in it, GPT-2, a
    LLaMA-like or a BERT-like model of transformers, a Transformer trained here, or a compiled
    program's `fixed_depth(layers)`. A bare nn.LSTM, nn.GRU or nn.TransformerEncoder takes what is
    around it as `embedding` (tokens to vectors, positions included) and `decoder`; the latter two
    also whether they are `causal`. `tokenizer` has encode and decode, or is a list of words. All
    is computed on the module's device, or on `device`; the module stays where it is.

    >>> import espalier as es
    >>> lstm, words = torch.nn.LSTM(4, 4), ["the", "cat", "sat", "<unk>"]
    >>> parts = dict(embedding=torch.nn.Embedding(4, 4), decoder=torch.nn.Linear(4, 4))
    >>> net = es.network(lstm, tokenizer=words, **parts)
    >>> es.decompose(net, "the cat sat", focus=["cat"]).relevant.shape
    torch.Size([3, 4])
    """
    if isinstance(module, Network):
        found = module
    else:
        found = read_module(module, embedding=embedding, decoder=decoder, causal=causal)
        if isinstance(module, AnyModel) and tokenizer is None:
            tokenizer = module.vocabulary
    if tokenizer is not None:
        found = replace(found, tokenizer=as_tokenizer(tokenizer))
    return found if device is None else found.to(device)


def read_module(
    module: Any,
    *,
    embedding: Callable[[Tensor], Tensor] | None,
    decoder: nn.Linear | None,
    causal: bool | None,
) -> Network:
    """The module's parts, and what is around them."""
    name = type(module).__name__
    if isinstance(getattr(module, "shape", None), TransformerShape):
        return read_trained(module)
    if isinstance(module, FixedDepth):
        return watched(_checked(read_compiled(module), module), module)
    if not isinstance(module, nn.Module):
        raise ModelError(f"a {name} is no torch module; give the module, or a compiled program's")
    if hasattr(module, "fixed_depth"):
        raise ModelError(
            "a compiled program runs until it halts; give it a depth: es.network("
            "model.fixed_depth(layers))"
        )
    if isinstance(module, nn.LSTM | nn.GRU | nn.TransformerEncoder):
        return _bare(module, embedding=embedding, decoder=decoder, causal=causal)
    module_dtype(module)
    try:
        found = read_pretrained(module)
        if found is None:
            found = _custom(module, causal)
        found = _checked(found, module)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from error
    return replace(found, lstm=_language_model(module))


def _language_model(module: nn.Module | dict[str, Tensor]) -> LanguageModel | None:
    """The module as one of our language models, which have faster code, if it is one."""
    if isinstance(module, LanguageModel):
        return module
    weights = module.values() if isinstance(module, dict) else module.parameters()
    try:
        return load_language_model(module).to(next(iter(weights)))
    except ModelError:
        return None


def module_dtype(module: nn.Module) -> torch.dtype:
    """float32 or float64; narrower types are refused, as decompositions do not support them."""
    for name, weights in module.named_parameters():
        if weights.dtype not in (torch.float32, torch.float64):
            raise ModelError(
                f"{name} is {weights.dtype}; decompositions are in float32 or float64: give "
                f"module.float()"
            )
        if not bool(weights.detach().isfinite().all()):
            raise ModelError(f"the model has NaN or infinite weights in {name}; train it again")
        return weights.dtype
    raise ModelError("it has no parameters; there is nothing to decompose")


def _bare(
    module: nn.Module,
    *,
    embedding: Callable[[Tensor], Tensor] | None,
    decoder: nn.Linear | None,
    causal: bool | None,
) -> Network:
    """A body alone, with what is around it given."""
    name = type(module).__name__
    if embedding is None or decoder is None:
        raise ModelError(
            f"a bare {name} needs what is around it: es.network({name.lower()}, embedding=..., "
            f"decoder=...), modules from tokens to vectors and from states to logits"
        )
    body: Body
    if isinstance(module, nn.TransformerEncoder):
        if causal is None:
            raise ModelError("say whether the encoder is run with a causal mask: causal=True")
        body = read_encoder(module, causal=causal)
    else:
        body = read_recurrent([("", module)])
    head: tuple[HeadPart, ...] = (linear_of(decoder),)
    found = _network(name, embedding, body, head, getattr(embedding, "num_embeddings", None))
    if not isinstance(module, nn.LSTM) or type(embedding) is not nn.Embedding:
        return found
    parts = {"encoder": embedding, "rnn": module, "decoder": decoder}
    tensors = {f"{n}.{k}": v for n, one in parts.items() for k, v in one.state_dict().items()}
    return replace(found, lstm=_language_model(tensors))


def _network(
    name: str,
    embed: Callable[[Tensor], Tensor],
    body: Body,
    head: tuple[HeadPart, ...],
    vocabulary: int | None,
) -> Network:
    last = head[-1]
    assert isinstance(last, Linear)
    return Network(name, embed, body, head, vocabulary or len(last.weight))


def _custom(module: nn.Module, causal: bool | None) -> Network:
    """A user's module around a body that torch has."""
    around = Around(module)
    body: Body
    if isinstance(around.bodies[0][1], nn.TransformerEncoder):
        if len(around.bodies) > 1:
            raise ModelError(f"it has two encoders, {around.bodies[1][0]} the second; one is read")
        body = read_encoder(
            around.bodies[0][1], causal=around.is_causal() if causal is None else causal
        )
    else:
        body = read_recurrent(around.bodies)
    return _network(
        type(module).__name__, around.embed, body, around.head(), around.vocabulary_size
    )


@torch.no_grad()
@contextmanager
def _full_precision() -> Iterator[None]:
    """Products as exact as their type, and layers as they are written.

    On CUDA a fused attention and TF32 are off by more than is allowed, and torch's fast path for
    encoder layers has the tanh approximation where exact GELU is set.
    """
    before, fast = torch.get_float32_matmul_precision(), torch.backends.mha.get_fastpath_enabled()
    torch.set_float32_matmul_precision("highest")
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.set_float32_matmul_precision(before)
        torch.backends.mha.set_fastpath_enabled(fast)


@_full_precision()
def _checked(net: Network, module: nn.Module) -> Network:
    """The network, if its logits on random tokens are the module's own."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(net.vocabulary_size, RANDOM, generator=generator).to(net.device)
    inputs = net.embed(tokens)
    ours = logits(net, run(net, inputs.to(net.dtype))[-1])
    check_logits(module, ours, tokens)
    changed = tokens.clone()
    changed[:, 2] = (changed[:, 2] + 1) % net.vocabulary_size
    apart = (net.embed(changed) - inputs).abs().amax(dim=(0, 2))
    if bool((apart[torch.arange(RANDOM[1]) != 2] > 0).any()):
        raise ModelError("what enters its body at one position depends on tokens elsewhere")
    return net
