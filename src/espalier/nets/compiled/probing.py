"""A compiled network run sub-layer by sub-layer, with a probe that observes and may interfere.

Modules are called as in `CompiledEncoder.forward`, so hooks fire; there are no shortcuts.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from espalier.nets.compiled.encoder import CompiledEncoder, is_valid
from espalier.nets.compiled.halting import WATCH_FROM, Finished, hold
from espalier.shapes import Lengths, Residual, Tokens, Valid

# Rows, positions and hidden units.
Silenced = tuple[Tensor, Tensor, Tensor]


class Probe:
    """The calls made during a run; this one changes nothing. Layers count from 1.

    `running` are the sequences that have not halted; `resting` are positions that sit out a layer.
    """

    last = 0  # the last layer in which it interferes

    def embedded(self, z: Residual, valid: Valid) -> Residual:
        """The stream to start with."""
        return z

    def cuts(self, layer: int, z: Residual, resting: Valid) -> Mapping[str, Tensor] | None:
        """By head, a mask over rows, queries and keys: the edges that are not to be selected."""
        return None

    def attended(self, layer: int, z: Residual, running: Tensor, resting: Valid) -> Residual:
        """The stream to use after attention."""
        return z

    def silenced(self, layer: int, z: Residual, resting: Valid) -> Silenced | None:
        """The units that are to be 0."""
        return None

    def updated(self, layer: int, z: Residual, running: Tensor, resting: Valid) -> Residual:
        """The stream to use after the MLP."""
        return z


@torch.no_grad()
def run_probed(
    encoder: CompiledEncoder,
    tokens: Tokens,
    lengths: Lengths,
    probe: Probe,
    *,
    max_layers: int | None = None,
) -> tuple[Finished, Residual]:
    """The result of `encoder` while `probe` observes, and the stream at the end."""
    encoder.check_length(tokens.shape[1], encoder.token_embedding.weight.dtype)
    valid = is_valid(tokens, lengths)
    z = probe.embedded(encoder.embed(tokens), valid)
    layers, layer = torch.zeros_like(lengths), 0
    halted = torch.zeros_like(lengths, dtype=torch.bool)
    watch = encoder.watch(None, max(WATCH_FROM, probe.last + 1))
    while layer != max_layers and not bool(halted.all()):
        layer, running = layer + 1, ~halted
        layers = layers + running
        resting = encoder.resting(z, layer - 1)
        rests = torch.zeros_like(valid) if resting is None else resting & valid
        cuts = probe.cuts(layer, z, rests)
        added = encoder.attention(z, valid) if cuts is None else encoder.attention(z, valid, cuts)
        middle = probe.attended(layer, hold(rests, z, z + added), running, rests)
        silenced = probe.silenced(layer, middle, rests)
        change = encoder.mlp(middle) if silenced is None else encoder.mlp(middle, silenced)
        after = probe.updated(layer, hold(rests, middle, middle + change), running, rests)
        z = torch.where(halted[:, None, None], z, after)
        halted = halted | encoder.done(z, valid)
        if max_layers is None:
            watch.look(layer, z, ~halted)
    return Finished(encoder.unembedding(z), layers, halted), z
