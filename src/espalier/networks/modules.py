"""The contents of torch's own modules, and what comes before and after a body in a user's module.

The parts before a body are not read: the vectors that enter it are taken by a hook. Those after it
are the leaves that a forward pass calls after it, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from espalier.errors import ModelError, listed
from espalier.nets.lstm import call_in_evaluation, is_batch_first
from espalier.networks.blocks import Activation, ActivationName, HeadPart, Linear, Norm

BODIES = (nn.LSTM, nn.GRU, nn.TransformerEncoder)
IGNORED = (nn.Dropout, nn.Identity, nn.LogSoftmax, nn.Softmax)


class _CapturedError(Exception):
    """Carries what entered a module; the rest of the forward pass is not run."""

    def __init__(self, vectors: Any) -> None:
        super().__init__()  # as an error's text, tensors would take a while
        self.vectors = vectors


def linear_of(module: Any) -> Linear:
    """An nn.Linear, or transformers' Conv1D, which has its matrix the other way round."""
    weight = module.weight.detach()
    if type(module).__name__ == "Conv1D":
        weight = weight.T.contiguous()
    elif not isinstance(module, nn.Linear):
        raise ModelError(f"a {type(module).__name__} was found where a linear layer is expected")
    return Linear(weight, None if module.bias is None else module.bias.detach())


def norm_of(module: Any) -> Norm:
    """A LayerNorm, or an RMSNorm of torch or transformers."""
    weight = None if module.weight is None else module.weight.detach()
    if isinstance(module, nn.LayerNorm):
        return Norm(weight, None if module.bias is None else module.bias.detach(), module.eps)
    if type(module).__name__.endswith("RMSNorm"):
        eps = getattr(module, "variance_epsilon", getattr(module, "eps", None))
        eps = torch.finfo(module.weight.dtype).eps if eps is None else eps
        return Norm(weight, None, eps, centred=False)
    raise ModelError(f"a {type(module).__name__} was found where a norm is expected")


def activation_of(given: Any) -> ActivationName:
    """The name of an activation: a module's, a function's or a name of transformers'."""
    names: dict[str, ActivationName] = {
        "gelu": "gelu",
        "gelu_new": "gelu_tanh",
        "gelu_pytorch_tanh": "gelu_tanh",
        "geluactivation": "gelu",
        "newgeluactivation": "gelu_tanh",
        "gelutanh": "gelu_tanh",
        "pytorchgelutanh": "gelu_tanh",
        "relu": "relu",
        "silu": "silu",
        "siluactivation": "silu",
        "swish": "silu",
        "tanh": "tanh",
    }
    if isinstance(given, nn.GELU):
        return "gelu_tanh" if given.approximate == "tanh" else "gelu"
    name = given if isinstance(given, str) else getattr(given, "__name__", type(given).__name__)
    if name.lower() not in names:
        raise ModelError(f"the activation {name} is not known; {listed(sorted(names))} are")
    return names[name.lower()]


def capture(module: nn.Module, inside: nn.Module, tokens: Tensor) -> Tensor:
    """What enters a module inside another when that is run on tokens, the batch first."""

    def stop(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        found: Any = given[0] if given else named.get("hidden_states", named.get("src"))
        raise _CapturedError(found)

    handle = inside.register_forward_pre_hook(stop, with_kwargs=True)
    batch_first = is_batch_first(inside)
    given = tokens if batch_first else tokens.T
    try:
        call_in_evaluation(module, given)
    except ModelError as error:
        found = error.__cause__
        if not isinstance(found, _CapturedError):
            raise
        vectors: Tensor = found.vectors.detach()
        return vectors if batch_first else vectors.transpose(0, 1)
    finally:
        handle.remove()
    raise ModelError(f"its forward does not call its {type(inside).__name__}")


class Around:
    """A user's module: its bodies, what enters them and what follows."""

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self.bodies = [
            (name, one) for name, one in module.named_modules() if isinstance(one, BODIES)
        ]
        if not self.bodies:
            kinds = sorted({type(one).__name__ for one in module.modules()})
            raise ModelError(
                f"it has no part that can be decomposed: no nn.LSTM, nn.GRU or "
                f"nn.TransformerEncoder, and it is no GPT-2, LLaMA or BERT of transformers; its "
                f"modules are {listed(kinds)}"
            )
        tables = [one for one in module.modules() if isinstance(one, nn.Embedding)]
        if not tables:
            raise ModelError("it has no nn.Embedding, so it takes no tokens")
        self.vocabulary_size = tables[0].num_embeddings
        self._device = tables[0].weight.device

    def embed(self, tokens: Tensor) -> Tensor:
        """The vectors that enter the first body."""
        return capture(self._module, self.bodies[0][1], tokens)

    def is_causal(self) -> bool:
        """Whether changing the last token changes nothing before it."""
        tokens = torch.zeros(1, 4, dtype=torch.long, device=self._device)
        other = tokens.clone()
        other[0, 3] = 1
        with torch.no_grad():
            one, two = (self._states(given) for given in (tokens, other))
        return bool(torch.allclose(one[:, :3], two[:, :3]))

    def _states(self, tokens: Tensor) -> Tensor:
        found: list[Tensor] = []
        encoder = self.bodies[0][1]
        handle = encoder.register_forward_hook(lambda _, __, given: found.append(given))
        batch_first = is_batch_first(encoder)
        try:
            call_in_evaluation(self._module, tokens if batch_first else tokens.T)
        finally:
            handle.remove()
        return found[0] if batch_first else found[0].transpose(0, 1)

    def head(self) -> tuple[HeadPart, ...]:
        """What is called after the last body, in order; the last part is linear."""
        called: list[tuple[str, nn.Module]] = []
        inside = {id(one) for _, body in self.bodies for one in body.modules()}
        handles = [
            one.register_forward_hook(_noting(name, called))
            for name, one in self._module.named_modules()
            if id(one) not in inside - {id(body) for _, body in self.bodies}
            and (isinstance(one, BODIES) or not list(one.children()))
        ]
        tokens = torch.zeros(2, 3, dtype=torch.long, device=self._device)
        try:
            call_in_evaluation(self._module, tokens)
        finally:
            for handle in handles:
                handle.remove()
        last = max(place for place, (_, one) in enumerate(called) if isinstance(one, BODIES))
        parts = [_part(name, one) for name, one in called[last + 1 :]]
        found = tuple(part for part in parts if part is not None)
        if not found or not isinstance(found[-1], Linear):
            raise ModelError("it ends with no linear layer that gives logits")
        return found


def _noting(name: str, called: list[tuple[str, nn.Module]]) -> Callable[..., None]:
    def note(module: nn.Module, *_: Any) -> None:
        called.append((name, module))

    return note


def _part(name: str, module: nn.Module) -> HeadPart | None:
    if isinstance(module, IGNORED):
        return None
    try:
        if isinstance(module, nn.Linear):
            return linear_of(module)
        if list(module.parameters()):
            return norm_of(module)
        return Activation(activation_of(module))
    except ModelError as error:
        raise ModelError(f"{name} cannot be decomposed: {error}") from error
