"""The weights of a causal program, going on from where they were, with tokens in and out."""

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
                "goes on from what it kept without calling modules: remove the hooks, or call the "
                "model on the whole text"
            )
        self._decoder = CachedDecoder(encoder, rows, max_layers=max_layers)

    @torch.inference_mode()
    def extend(self, tokens: Sequence[Sequence[int]]) -> list[Written]:
        """What each row's last position answers after these tokens more, at least one a row."""
        logits, layers = self._decoder.extend(*pad(tokens, self._device))
        pairs = zip(logits.argmax(-1).tolist(), layers.tolist(), strict=True)
        return [Written(token, count) for token, count in pairs]

    @torch.inference_mode()
    def keep(self, rows: NDArray[np.bool_]) -> None:
        """Go on with some of the rows only."""
        self._decoder.keep(torch.from_numpy(rows).to(self._device))
