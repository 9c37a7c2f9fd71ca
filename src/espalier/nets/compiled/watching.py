"""Whether calling a module does more than its parameters say: hooks, replaced parts, own calls.

Every run checks this, so dictionaries are looked up once: a module's stay the same objects.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class Watch:
    """All that is below a module, at one moment; the types are those not below `apart`."""

    def __init__(self, root: nn.Module, *, apart: nn.Module | None = None) -> None:
        modules = list(walk(root))
        left_out = set() if apart is None else set(walk(apart))
        self.types = {type(module) for module in modules if module not in left_out}
        self._dictionaries = [vars(module) for module in modules]
        self._hooks = [getattr(torch_module, f"_global{name}") for name in _HOOKS]
        self._hooks += [vars(module)[name] for module in modules for name in _HOOKS]
        self._children = [module._modules for module in modules]
        self._parameters = [module._parameters for module in modules]
        self._below = self._all_children()

    @property
    def is_current(self) -> bool:
        """Whether no module has been put in or taken out since."""
        return self._all_children() == self._below

    @property
    def is_heard(self) -> bool:
        """Whether a module has hooks, or its call was replaced."""
        return any(self._hooks) or any("forward" in own for own in self._dictionaries)

    def numbers(self) -> Tensor:
        """All parameters in a row."""
        held = [p for group in self._parameters for p in group.values() if p is not None]
        with torch.no_grad():
            return torch.cat([p if p.dim() == 1 else p.reshape(-1) for p in held])

    def _all_children(self) -> list[nn.Module | None]:
        return [child for group in self._children for child in group.values()]


def walk(module: nn.Module) -> Iterator[nn.Module]:
    """A module and all below it."""
    yield module
    for child in module._modules.values():
        if child is not None:
            yield from walk(child)
