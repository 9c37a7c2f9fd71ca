"""All pairs of words, one step per pair.

With focus {l} the state after word r - 1 is the same for every r > l, so that the relevant state of
every word alone is carried through the sentence. At step r each is combined with that step's word:
what {l, r} contributes beyond the sum of {l} and {r} is computed as such, from products that have
it as a factor (`gates`), and never as a difference of states, in which rounding would drown it.

In a layer above the first the interaction of the layer below enters as well: {l, r} hands up the
sum of what {l} and {r} do, and that. The past is the same for {l} and {l, r} in every layer. So
only {l} goes from step to step; what is added is computed for several steps at once.

Axes: N steps, K of them, l words so far, S sentences, H units, gates i f g in 3H.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import torch
from jaxtyping import Float
from torch import Tensor

from espalier.decomposition.all_pairs.layer_steps import LayerSteps
from espalier.decomposition.all_pairs.weights import PreparedLayer
from espalier.decomposition.all_pairs.windows import Shape, Window
from espalier.decomposition.dependence import ratio, triangle

# Relevant parts are at most 3/2; the squares of small ones must not underflow.
ENLARGED = 2.0**40
# Most steps taken together: calling torch for such a window takes as long as a word or two, and
# rows of no use grow with its square.
STEPS = 6
# Columns of a triangular matrix that are taken together.
COLUMNS = 112


class WordStates:
    """The relevant hidden state and cell of every word alone, by layer; and the plain run.

    `shape` says how many words at most, of how many sentences, units and layers; `steps` how many
    are run at once, `rows` how many are taken together: a row for each step, word and sentence.
    Windows are reused where sentences of the same shapes follow.
    """

    def __init__(
        self,
        like: Tensor,
        shape: tuple[int, int, int, int],
        *,
        rows: int,
        steps: int,
        keep: bool = False,
    ) -> None:
        words, self._sentences, units, layers = shape
        self.steps = steps
        self._rows, self._count = min(rows, STEPS * words * self._sentences), 0
        # (layer, hidden or cell, word, sentence, unit)
        self._states = like.new_zeros(layers, 2, words, self._sentences, units)
        self._layers = [LayerSteps(like, (steps, self._sentences, units)) for _ in range(layers)]
        self._memory, self._keep = like.new_empty(0), keep
        self._windows: dict[Shape, list[Window]] = {}

    def begin(self) -> None:
        """Forget all words."""
        self._count = 0
        self._states.zero_()

    def run(
        self,
        layers: Sequence[PreparedLayer],
        projected: Float[Tensor, "N S four_H"],
        state: Float[Tensor, "L 2 S H"],
    ) -> Float[Tensor, "N S H"]:
        """Hidden states of a plain run over some steps, from input weights times input.

        The state is advanced; words may then `advance` through these steps.
        """
        hidden, own = projected, None
        for number, (layer, steps) in enumerate(zip(layers, self._layers, strict=True)):
            if number:
                projected = hidden @ layer.from_input
                below = self._layers[number - 1].own_hidden[: len(hidden), 0]
                own = below @ layer.input_to_gates
            hidden = steps.run(layer, projected, own, state[number])
        return hidden

    def advance(
        self,
        layers: Sequence[PreparedLayer],
        ends: Sequence[int],
        decoders: Sequence[Float[Tensor, "H R"] | None],
        *,
        carry: bool,
    ) -> Iterator[tuple[slice, list[Float[Tensor, "K l S"]]]]:
        """DI of every word so far with those of some steps, in the space of each decoder.

        `ends` says where sentences end, in steps of those that were `run`, the longest first. With
        `carry` their words are carried on as well: step k has k words more before it.
        """
        start = 0
        while start < ends[0]:
            going, steps = sum(end > start for end in ends), self._together(ends[0] - start, carry)
            words, stop = self._count + (steps - 1) * carry, start + steps
            at_once, parts = max(1, self._rows // (steps * self._sentences)), []
            for first in range(0, words, at_once):
                some = slice(first, min(first + at_once, words))
                born = self._count - first if some.stop > self._count else None
                found = self._some(layers, Shape(start, stop, some.stop - first, going, born), some)
                parts.append([ratio(*lengths(found, decoder)) for decoder in decoders])
            if carry:
                for (hidden, cell), layer in zip(self._states, self._layers, strict=True):
                    hidden[words, :going] = layer.own_hidden[stop - 1, 0, :going]
                    cell[words, :going] = layer.own_cell[stop - 1, 0, :going]
                self._count = words + 1
            if parts:
                yield slice(start, stop), [torch.cat(of, dim=1) for of in zip(*parts, strict=True)]
            start = stop

    def _together(self, most: int, carry: bool) -> int:
        """How many steps to take together: few rows are slower than rows of no use."""
        steps = range(min(STEPS, most), 1, -1)
        held = ((n, n * (self._count + (n - 1) * carry) * self._sentences) for n in steps)
        return next((n for n, rows in held if rows <= self._rows), 1)

    def _some(
        self, layers: Sequence[PreparedLayer], shape: Shape, words: slice
    ) -> Float[Tensor, "2 K l S H"]:
        """What {l, r} adds to the hidden state, and all of it; the words' states are advanced."""
        below: tuple[Tensor, Tensor] | None = None
        windows = self._windows.get(shape) or self._add(shape)
        for layer, window, all_states in zip(layers, windows, self._states, strict=True):
            states = all_states[:, words, : shape.sentences]
            window.before.copy_(states)
            window.through(layer, below)
            states.copy_(window.after)
            below = window.hidden, window.apart
            if window is not windows[-1]:  # which all use the same memory
                below = window.hidden.clone(), window.apart.clone()
        return windows[-1].enlarged(ENLARGED)

    def _add(self, shape: Shape) -> list[Window]:
        """Windows of a new shape, one a layer."""
        size = sum(map(prod, shape.parts(self._states.shape[-1], above=len(self._layers) > 1)))
        if len(self._memory) < size:
            self._memory = self._memory.new_empty(size)
        windows = [
            Window(shape, layer, self._memory, above=number > 0)
            for number, layer in enumerate(self._layers)
        ]
        if self._keep:
            self._windows[shape] = windows
        return windows


def lower_triangle(decoder: Float[Tensor, "V H"]) -> Float[Tensor, "H R"]:
    """The decoder's triangle, transposed, up to a factor that leaves no number too large."""
    root = triangle(decoder)
    tiny = torch.finfo(root.dtype).tiny
    return (root / root.abs().max().clamp_min(tiny)).T.contiguous()


def lengths(
    vectors: Float[Tensor, "*R H"], decoder: Float[Tensor, "H R"] | None
) -> Float[Tensor, "*R"]:
    """The length of each vector, or of its product with a triangular matrix.

    In blocks of columns, each of which leaves out the rows above it: two fifths of the arithmetic.
    """
    if decoder is None:
        found: Tensor = torch.linalg.vector_norm(vectors, dim=-1)
        return found
    squares = vectors.new_zeros(vectors.shape[:-1])
    for start in range(0, len(decoder), COLUMNS):
        block = decoder[start:, start : start + COLUMNS]
        squares += (vectors[..., start:] @ block).square_().sum(dim=-1)
    return squares.sqrt_()
