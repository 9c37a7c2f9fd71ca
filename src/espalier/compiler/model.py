"""A compiled program: a torch module that runs on token ids and knows what its dimensions mean."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from espalier.compiler.basis import Realism
from espalier.compiler.batches import pad
from espalier.compiler.feedforward import unit_labels
from espalier.compiler.files import Stored, read_compiled, write_compiled
from espalier.compiler.layout import Layout
from espalier.compiler.open_runs import run_with_plan
from espalier.compiler.plain import unroll
from espalier.errors import CompileError, ProgramError, as_flag
from espalier.interventions import Intervention, Interventions, make_plan
from espalier.language import (
    Program,
    Run,
    Runs,
    as_items,
    can_halt,
    check_batch,
    check_layers,
    chunks,
)
from espalier.nets import PlainTransformer
from espalier.nets.compiled import (
    MLP,
    CompiledEncoder,
    Finished,
    FixedDepth,
    UniversalEncoder,
    Weights,
    digest_of,
    on_cpu,
)
from espalier.shapes import Lengths, Logits, Residual, Tokens


class CompiledModel(nn.Module):
    """The Transformer of a program, made by `compile_program` or `load_compiled`.

    Its parameters are the weights, and those of a matrix are its entries. They require gradients,
    as those of any module do; `run` and `run_many` compute none. Calling the model calls every
    sub-layer once per layer: `encoder.attention`, `encoder.attention.<head>`, `encoder.mlp`. So do
    `run` and `run_many` where a hook listens; where none does, they run the same weights faster.
    """

    def __init__(self, layout: Layout, weights: Weights) -> None:
        super().__init__()
        self.layout = layout
        self.encoder = CompiledEncoder(weights, layout.head_names)
        self.compiled_digest, self.compiled_dtype = digest_of(self.weights), self.dtype
        self._prepared: tuple[Tensor, UniversalEncoder] | None = None

    @property
    def weights(self) -> Weights:
        """The weights as they are now, as plain data; it shares the parameters' memory."""
        return self.encoder.weights

    @property
    def is_as_compiled(self) -> bool:
        """Whether the weights still are, in value and type, what the program compiled to."""
        return self.encoder.is_own and digest_of(self.weights) == self.compiled_digest

    @property
    def program(self) -> Program:
        """The program that was compiled."""
        return self.layout.program

    @property
    def dtype(self) -> torch.dtype:
        """The type of the residual stream."""
        return self.encoder.token_embedding.weight.dtype

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return self.encoder.token_embedding.weight.device

    @property
    def labels(self) -> list[str]:
        """What each residual dimension means; with realism, each row of `basis`."""
        return self.layout.labels

    @property
    def realism(self) -> Realism | None:
        """How the network differs from a clean one, if it does."""
        return self.layout.realism

    @property
    def basis(self) -> Float[Tensor, "M D"]:
        """The direction in the residual stream of each of the `labels`."""
        basis = self.layout.basis
        clean = torch.eye(self.layout.width) if basis is None else basis.directions
        return clean.to(self.device, self.dtype)

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

    def fixed_depth(self, layers: int) -> FixedDepth:
        """This model with `max_layers=layers` as a module without branches on what it computes.

        It takes tokens and lengths, shares the model's parameters, and can be given to
        `torch.export` and `torch.vmap`.
        """
        if type(layers) is not int or layers < 0:
            raise ProgramError(f"layers is {layers!r}; a whole number from 0 on is expected")
        return FixedDepth(self.encoder, layers)

    def unroll(self, layers: int, positions: int | None = None) -> PlainTransformer:
        """The run with `max_layers=layers` as a textbook Transformer for up to `positions` tokens.

        By default as many as `position_range`, or 64 where that is not given.
        """
        exact, weights = self.is_as_compiled, on_cpu(self.weights)
        plain = unroll(self.layout, weights, layers=layers, positions=positions, exact=exact)
        return plain.to(self.device)

    def fast_encoder(self) -> UniversalEncoder | None:
        """What `run` uses; None where modules have hooks or were replaced and must be called."""
        numbers = self.encoder.numbers()
        if numbers is None:
            return None
        # Compared by value: an edit through `.data` or NumPy leaves no other mark.
        if self._prepared is None or not torch.equal(numbers, self._prepared[0]):
            with torch.inference_mode(False):
                groups = self.layout.groups if self.realism is None else ()
                self._prepared = numbers, self.encoder.fast(groups)
        return self._prepared[1]

    def run(
        self,
        tokens: Iterable[object],
        *,
        max_layers: int | None = None,
        cache: bool = False,
        interventions: Sequence[Intervention] = (),
    ) -> Run:
        """Outputs and number of layers for one sequence: the interpreter's.

        With `cache` the run's `cache` holds all that it went through. `interventions` (see
        `espalier.interventions`) change it in the middle, as they change the interpreter.
        """
        checked = [self.program.tokens(tokens)]
        options = {"max_layers": max_layers, "cache": cache, "interventions": interventions}
        return self.run_many(checked, **options)[0]  # type: ignore[arg-type]

    def run_many(
        self,
        batch: Iterable[Iterable[object]],
        *,
        max_layers: int | None = None,
        cache: bool = False,
        interventions: Interventions = (),
    ) -> Runs:
        """The same for sequences of any lengths, in the order given.

        `interventions` is one list for all of them, or a list of lists, one for each.
        """
        layers = check_layers(self.program, max_layers)
        sequences = check_batch(self.program, batch)
        runs: dict[int, Run] = {}
        if as_flag("cache", cache, error=ProgramError) or as_items(interventions, "interventions"):
            lengths = [len(sequence) for sequence in sequences]
            plan = make_plan(self.program, interventions, lengths, max_layers=layers)
            network = self.layout, self.encoder
            found = run_with_plan(network, sequences, plan, max_layers=layers, cache=cache)
            runs = plan.finished(*found)
        else:
            for numbers in chunks(sequences):
                runs |= self._run(sequences, numbers, layers)
        return Runs(runs[number] for number in range(len(sequences)))

    def run_text(self, text: str, *, max_layers: int | None = None) -> str:
        """The answer to a text, by the weights, as the program's `text` says to read and write."""
        form = self.program.text
        if form is None:
            raise ProgramError(
                "the program does not say how its input is written; give it text=TextFormat(...), "
                "or use run with tokens"
            )
        layers = form.max_layers if max_layers is None else max_layers
        tokens = form.encode(text)
        if not form.writes:
            return form.decode(self.run(tokens, max_layers=layers).outputs)
        written: list[int] = []
        while len(written) < len(tokens) and form.stop not in written[-1:]:
            written.append(self.run([*tokens, *written], max_layers=layers).outputs[-1])
        return form.decode(written)

    @torch.inference_mode()
    def _run(
        self, sequences: Sequence[Sequence[int]], numbers: list[int], max_layers: int | None
    ) -> dict[int, Run]:
        tokens, lengths = pad([sequences[n] for n in numbers], self.device)
        encoder = self.fast_encoder() or self.encoder
        if max_layers is None:
            self._refuse_never_halting(encoder.embed(tokens), lengths, numbers)
        finished: Finished = encoder(tokens, lengths, max_layers=max_layers)
        outputs = finished.logits.argmax(-1).tolist()
        layers, halted = finished.layers.tolist(), finished.halted.tolist()
        self._refuse_unproven(max(layers))
        return {
            number: Run(outputs[row][: len(sequences[number])], layers[row], halted[row])
            for row, number in enumerate(numbers)
        }

    def _refuse_unproven(self, layers: int) -> None:
        """Raise where a realistic network ran deeper than it is proven right."""
        proven = None if self.layout.basis is None else self.layout.basis.layers
        if proven is not None and layers > proven:
            raise ProgramError(
                f"the input takes {layers} layers, and this network is proven right for {proven}: "
                f"compile with realism of {layers} layers, or with proven=False"
            )

    def _refuse_never_halting(self, z: Residual, lengths: Lengths, numbers: list[int]) -> None:
        """Raise for a sequence that no rule can ever make halt, as the interpreter does."""
        halt = self.program.halt
        if halt is None or self.program.derived(can_halt) or not self.is_as_compiled:
            return
        open_ = ~self.encoder.has_halted(z)
        open_ &= torch.arange(z.shape[1], device=z.device) < lengths[:, None]
        for row, position in open_.nonzero().tolist():
            raise ProgramError(
                f"input {numbers[row]} never halts: no rule that can ever hold writes the halt "
                f"value, with {halt.variable!r} not {halt.value} at position {position}; give "
                "max_layers to stop it"
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write weights, layout and program to one safetensors file."""
        found = Stored(self.layout, self.weights, self.compiled_digest, self.compiled_dtype)
        write_compiled(found, path)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> CompiledModel:
        # Thresholds are chosen for a type; rounding them into a narrower one would move them.
        asked = fn(torch.zeros(1, dtype=self.dtype)).dtype
        if torch.finfo(asked).bits < torch.finfo(self.dtype).bits:
            raise CompileError(
                f"this model was compiled for {self.dtype}; for {asked} compile the program again "
                f"with dtype={asked}"
            )
        self._prepared = None
        super()._apply(lambda tensor: _not_narrower(fn(tensor), tensor), recurse)
        return self

    def __getstate__(self) -> dict[str, object]:
        """Everything but what is made from it."""
        return vars(self) | {"_prepared": None}

    def __repr__(self) -> str:
        program = self.program
        longest = "any length" if program.position_range is None else program.position_range
        return (
            f"{type(self).__name__}({len(program.heads)} heads, residual width "
            f"{self.layout.stream_width}, {self._mlp_width()}, positions: {longest}, {self.dtype}, "
            f"{self.device}{'' if self.realism is None else f', {self.realism}'}"
            f"{'' if self.is_as_compiled else ', edited since compiled'})"
        )

    def _mlp_width(self) -> str:
        mlp = self.encoder.mlp
        return f"MLP width {mlp.first.shape[0]}" if isinstance(mlp, MLP) else f"MLP {mlp}"


def _not_narrower(found: Tensor, tensor: Tensor) -> Tensor:
    """`found`, or `tensor` on its device where that is wider: a threshold in a narrow model."""
    is_narrower = found.is_floating_point() and found.element_size() < tensor.element_size()
    return tensor.to(found.device) if is_narrower else found


def load_compiled(path: str | os.PathLike[str]) -> CompiledModel:
    """The model that was saved to `path`; its `is_as_compiled` says whether it was edited.

    >>> import espalier as es
    >>> file = getfixture("tmp_path") / "parity.safetensors"
    >>> es.compile_program(es.zoo.load("parity-sequential-relative").program).save(file)
    >>> load_compiled(file).run([2, 1, 0, 1]).outputs
    [0, 1, 1, 0]
    """
    stored = read_compiled(path)
    model = CompiledModel(stored.layout, stored.weights)
    model.compiled_digest, model.compiled_dtype = stored.digest, stored.dtype
    return model
