"""ONNX, written node by node: a textbook Transformer is few operators, and so is a loop over it.

The graph needs nothing but a runtime: a browser, a phone or C++. Weights that layers share are in
the file once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from espalier.compiler import CompiledModel
from espalier.errors import CompileError, FileError
from espalier.exports.source import Model, absent, plain_of
from espalier.files import as_path, suggest_name
from espalier.nets import PlainTransformer

# The operators' versions, old enough for most runtimes.
OPSET, IR = 17, 8
# A loop ends here at the latest.
MOST_LAYERS = 1 << 16


def to_onnx(
    model: Model,
    path: str | os.PathLike[str],
    *,
    layers: int | None = None,
    positions: int | None = None,
) -> Path:
    """Write a compiled model as ONNX, `tokens` in and `logits` out; the path.

    With `layers` it is `model.unroll(layers, positions)`; without, its layers are in a loop that
    ends when all sequences have halted. The metadata (`espalier`, as JSON) have the names of
    tokens, outputs, heads and dimensions, and the `pad_id` in which short rows end.

    >>> import espalier as es
    >>> model = es.compile_program(es.zoo.load("parity-sequential-relative").program)
    >>> to_onnx(model, getfixture("tmp_path") / "parity.onnx", layers=4).name  # doctest: +SKIP
    'parity.onnx'
    """
    place, halt = as_path(path), None
    if place.suffix != ".onnx":
        raise FileError(f"cannot write {place}: call it {suggest_name(place, '.onnx')}")
    try:
        import onnx
    except ImportError as error:
        raise absent(error, "onnx", "onnx") from error
    if layers is None and isinstance(model, CompiledModel):
        if model.weights.halt is None:
            raise CompileError("the program does not halt on its own; give layers, as in layers=12")
        plain, halt = model.unroll(2, positions), _halted(model)
    else:
        plain = plain_of(model, layers, positions)
    made = _Writer(onnx, plain).model(halt)
    onnx.checker.check_model(made)
    onnx.save(made, place)
    return place


def _halted(model: CompiledModel) -> np.ndarray:
    """The direction of the stream that is above one half where a position has halted."""
    halt = model.weights.halt
    assert halt is not None
    found: np.ndarray = np.eye(model.layout.stream_width)[halt.dimension]
    return found if halt.direction is None else np.asarray(halt.direction.cpu())


class _Writer:
    """Nodes and weights of one graph; a block's weights are written when first used."""

    def __init__(self, onnx: Any, plain: PlainTransformer) -> None:
        self.onnx, self.plain, self.config = onnx, plain, plain.config
        self.dtype = plain.embed.weight.detach().cpu().numpy().dtype
        self.nodes: list[Any] = []
        self.weights: dict[str, Any] = {}
        self.count = 0

    def model(self, halt: np.ndarray | None) -> Any:
        """The file; with `halt` the second half of the blocks is repeated."""
        helper, config, kind = self.onnx.helper, self.config, self.onnx.TensorProto
        x, ids = self.embed()
        if config.causal:
            self.later = self.mask(ids)
        half = len(config.plan) // 2
        if halt is None:
            x = self.blocks(x, range(len(config.plan)))
        else:
            x = self.loop(self.blocks(x, range(half)), range(half, 2 * half), ids, halt)
        logits = self.op("MatMul", x, self.matrix("unembed", self.plain.unembed))
        self.op("Slice", logits, *(self.number([n]) for n in (1, 1 << 30, 1)), output="logits")
        numbers = kind.DOUBLE if self.plain.embed.weight.element_size() == 8 else kind.FLOAT
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes,
            "espalier",
            [info("tokens", kind.INT64, ["batch", "position"])],
            [info("logits", numbers, ["batch", "position", config.d_vocab_out])],
            list(self.weights.values()),
        )
        opset = [helper.make_opsetid("", OPSET)]
        made = helper.make_model(graph, opset_imports=opset, ir_version=IR)
        labels = asdict(config) | {"pad_id": config.pad_id, "bos_id": config.bos_id}
        helper.set_model_props(made, {"espalier": json.dumps(labels)})
        return made

    def op(self, kind: str, *inputs: str, output: str = "", **settings: Any) -> str:
        """The name of the output of one more node."""
        self.count += 1
        output = output or f"{kind}_{self.count}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [output], **settings))
        return output

    def array(self, name: str, value: Any) -> str:
        """The name of a constant."""
        if name not in self.weights:
            self.weights[name] = self.onnx.numpy_helper.from_array(np.asarray(value), name)
        return name

    def number(self, value: list[int]) -> str:
        """The name of a few integers."""
        return self.array("_".join(map(str, ["int", *value])), np.asarray(value, np.int64))

    def matrix(self, name: str, linear: nn.Linear) -> str:
        """A linear map's weights, turned for x @ w."""
        return self.array(f"{name}.weight", linear.weight.detach().T.contiguous().cpu())

    def embed(self) -> tuple[str, str]:
        """The stream before the first block, and the tokens with the beginning before them."""
        batch = self.op("Shape", "tokens", start=0, end=1)
        shape = self.op("Concat", batch, self.number([1]), axis=0)
        first = self.op("Expand", self.number([self.config.bos_id]), shape)
        ids = self.op("Concat", first, "tokens", axis=1)
        tokens = self.op("Gather", self._table("embed", self.plain.embed), ids)
        places = self.op(
            "Gather", self._table("pos_embed", self.plain.pos_embed), self.positions(ids)
        )
        return self.op("Add", tokens, places), ids

    def positions(self, ids: str) -> str:
        """0, 1, 2 ... for each position."""
        shape = self.op("Shape", ids, start=1, end=2)
        limit = self.op("Squeeze", shape)
        zero, one = (self.array(f"scalar_{n}", np.asarray(n, np.int64)) for n in (0, 1))
        return self.op("Range", zero, limit, one)

    def mask(self, ids: str) -> str:
        """Where a key is later than a query."""
        places = self.positions(ids)
        queries = self.op("Unsqueeze", places, self.number([1]))
        return self.op("Less", queries, places)

    def blocks(self, x: str, places: Iterable[int]) -> str:
        """The stream after some blocks."""
        for place in places:
            block, name = self.plain.blocks[place], f"blocks.{self.config.plan[place]}"
            assert isinstance(block, nn.Module)
            x = self.op("Add", x, self.attention(x, block.get_submodule("attn"), name))
            x = self.op("Add", x, self.mlp(x, block.get_submodule("mlp"), name))
        return x

    def attention(self, x: str, attn: nn.Module, name: str) -> str:
        """What the heads of a block add."""
        split, heads = self.number([0, 0, self.config.n_heads, self.config.d_head]), []
        for part, order in (
            ("query", [0, 2, 1, 3]),
            ("key", [0, 2, 3, 1]),
            ("value", [0, 2, 1, 3]),
        ):
            flat = self.linear(x, attn.get_submodule(part), f"{name}.{part}")
            heads.append(self.op("Transpose", self.op("Reshape", flat, split), perm=order))
        scores = self.op("MatMul", heads[0], heads[1])
        if self.config.causal:
            none = np.asarray(-np.inf, self.dtype)
            scores = self.op("Where", self.later, self.array("never", none), scores)
        carried = self.op("MatMul", self.op("Softmax", scores, axis=-1), heads[2])
        joined = self.op("Transpose", carried, perm=[0, 2, 1, 3])
        joined = self.op("Reshape", joined, self.number([0, 0, -1]))
        return self.linear(joined, attn.get_submodule("output"), f"{name}.output")

    def mlp(self, x: str, mlp: nn.Module, name: str) -> str:
        """What the units of a block add."""
        hidden = self.linear(x, mlp.get_submodule("first"), f"{name}.first")
        return self.linear(self.op("Relu", hidden), mlp.get_submodule("second"), f"{name}.second")

    def linear(self, x: str, linear: nn.Module, name: str) -> str:
        """A linear map of x."""
        assert isinstance(linear, nn.Linear)
        y = self.op("MatMul", x, self.matrix(name, linear))
        bias: Tensor | None = linear.bias
        if bias is None:
            return y
        return self.op("Add", y, self.array(f"{name}.bias", bias.detach().cpu()))

    def loop(self, x: str, places: range, ids: str, halt: np.ndarray) -> str:
        """Blocks repeated until every position has halted; rows that have stay as they are."""
        helper, kind = self.onnx.helper, self.onnx.TensorProto
        void = self.op("GreaterOrEqual", ids, self.number([self.config.pad_id]))
        goes_on = self.running(x, void, halt)
        outside, self.nodes = self.nodes, []
        after = self.blocks("x_before", places)
        self.op("Identity", after, output="x_after")
        self.op("Identity", self.running(after, void, halt), output="goes_on")
        info, numbers = helper.make_tensor_value_info, self.plain.embed.weight.element_size()
        stream = kind.DOUBLE if numbers == 8 else kind.FLOAT
        body = helper.make_graph(
            self.nodes,
            "layer",
            [
                info("iteration", kind.INT64, []),
                info("went_on", kind.BOOL, []),
                info("x_before", stream, None),
            ],
            [info("goes_on", kind.BOOL, []), info("x_after", stream, None)],
        )
        self.nodes = outside
        most = self.array("most_layers", np.asarray(MOST_LAYERS, np.int64))
        return self.op("Loop", most, goes_on, x, body=body)

    def running(self, x: str, void: str, halt: np.ndarray) -> str:
        """Whether any position has not halted."""
        size = self.config.d_model - len(halt)
        flag = self.op("MatMul", x, self.array("halt", np.pad(halt, (0, size)).astype(self.dtype)))
        half = self.array("half", np.asarray(0.5, self.dtype))
        done = self.op("Or", self.op("Greater", flag, half), void)
        least = self.op("ReduceMin", self.op("Cast", done, to=6), keepdims=0)
        return self.op("Equal", least, self.array("not_yet", np.asarray(0, np.int32)))

    def _table(self, name: str, embedding: nn.Embedding) -> str:
        return self.array(f"{name}.weight", embedding.weight.detach().cpu())
