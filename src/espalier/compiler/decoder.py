"""The weights of a causal program, continuing from where they stopped, with tokens in and out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from espalier.compiler.batches import pad
from espalier.compiler.model import CompiledModel
from espalier.errors import ModelError
from espalier.language import Written
from espalier.nets.compiled import CachedDecoder


class WeightsDecoder:
    """A compiled model that answers for texts that grow: the interpreter's `SymbolDecoder`."""

    def __init__(self, model: CompiledModel, rows: int, *, max_layers: int | None = None) -> None:
        self._device = model.device
        encoder = model.fast_encoder()
        if encoder is None:
            raise ModelError(
                "a hook listens to a module of this model, or one was replaced, and generation "
                "continues from its cache without calling modules: remove the hooks, or call the "
                "model on the whole text"
            )
        self._decoder = CachedDecoder(encoder, rows, max_layers=max_layers)

    @torch.inference_mode()
    def extend(self, tokens: Sequence[Sequence[int]]) -> list[Written]:
        """The answer of each row's last position after these tokens more, at least one per row."""
        logits, layers = self._decoder.extend(*pad(tokens, self._device))
        pairs = zip(logits.argmax(-1).tolist(), layers.tolist(), strict=True)
        return [Written(token, count) for token, count in pairs]

    @torch.inference_mode()
    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Continue with some of the rows only."""
        self._decoder.keep(torch.from_numpy(rows).to(self._device))
