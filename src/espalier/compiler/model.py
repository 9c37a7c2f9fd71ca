"""A compiled program: a torch module that runs on token ids and knows what its dimensions mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn

from espalier.compiler.feedforward import unit_labels
from espalier.compiler.layout import Layout
from espalier.errors import CompileError
from espalier.language import Program, Run, Runs
from espalier.language.batches import chunks
from espalier.language.program import check_batch, check_layers
from espalier.nets.compiled import Finished, UniversalEncoder, Weights
from espalier.shapes import Lengths, Logits, Tokens


class CompiledModel(nn.Module):
    """The Transformer of a program, made by `compile_program` or `load_compiled`."""

    def __init__(self, layout: Layout, weights: Weights) -> None:
        super().__init__()
        self.layout, self.weights = layout, weights
        self.encoder = UniversalEncoder(weights, groups=layout.groups)

    @property
    def program(self) -> Program:
        """The program that was compiled."""
        return self.layout.program

    @property
    def dtype(self) -> torch.dtype:
        """The type of the residual stream."""
        return self.encoder.token_embedding.dtype

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return self.encoder.token_embedding.device

    @property
    def labels(self) -> list[str]:
        """What each residual dimension means."""
        return self.layout.labels

    @property
    def unit_labels(self) -> list[str]:
        """What each hidden unit of the MLP stands for."""
        return unit_labels(self.layout)

    def forward(
        self, tokens: Tokens, lengths: Lengths | None = None, *, max_layers: int | None = None
    ) -> Logits:
        """Logits of the output variable for a padded batch; unchecked, as other modules are."""
        if lengths is None:
            lengths = torch.full((len(tokens),), tokens.shape[1], device=tokens.device)
        finished: Finished = self.encoder(tokens, lengths, max_layers=max_layers)
        return finished.logits

    def run(self, tokens: Iterable[object], *, max_layers: int | None = None) -> Run:
        """Outputs and number of layers for one sequence: the interpreter's."""
        layers = check_layers(self.program, max_layers)
        return self._run([self.program.tokens(tokens)], [0], layers)[0]

    def run_many(self, batch: Iterable[Iterable[object]], *, max_layers: int | None = None) -> Runs:
        """The same for sequences of any lengths, in the order given."""
        layers = check_layers(self.program, max_layers)
        sequences = check_batch(self.program, batch)
        runs: dict[int, Run] = {}
        for numbers in chunks(sequences):
            runs |= self._run(sequences, numbers, layers)
        return Runs(runs[number] for number in range(len(sequences)))

    @torch.inference_mode()
    def _run(
        self, sequences: Sequence[Sequence[int]], numbers: list[int], max_layers: int | None
    ) -> dict[int, Run]:
        tokens, lengths = pad([sequences[n] for n in numbers], self.device)
        finished: Finished = self.encoder(tokens, lengths, max_layers=max_layers)
        outputs = finished.logits.argmax(-1).tolist()
        layers, halted = finished.layers.tolist(), finished.halted.tolist()
        return {
            number: Run(outputs[row][: len(sequences[number])], layers[row], halted[row])
            for row, number in enumerate(numbers)
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write weights, layout and program to one safetensors file."""
        from espalier.compiler.files import save_compiled

        save_compiled(self, path)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> CompiledModel:
        # Thresholds are chosen for a type; rounding them into a narrower one would move them.
        asked = fn(torch.zeros(1, dtype=self.dtype)).dtype
        if torch.finfo(asked).bits < torch.finfo(self.dtype).bits:
            raise CompileError(
                f"this model was compiled for {self.dtype}; for {asked} compile the program again "
                f"with dtype={asked}"
            )
        super()._apply(fn, recurse)
        return self

    def __repr__(self) -> str:
        program = self.program
        longest = "any length" if program.position_range is None else program.position_range
        return (
            f"{type(self).__name__}({len(program.heads)} heads, residual width "
            f"{self.layout.width}, {self._mlp_width()}, positions: {longest}, {self.dtype}, "
            f"{self.device})"
        )

    def _mlp_width(self) -> str:
        return f"MLP width {len(self.weights.feedforward.b1)}"


def pad(sequences: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Token ids as a rectangle, 0 where a sequence has ended, and the lengths."""
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    width = int(lengths.max())
    rows = [[*sequence, *([0] * (width - len(sequence)))] for sequence in sequences]
    return torch.tensor(rows, device=device), lengths.to(device)
