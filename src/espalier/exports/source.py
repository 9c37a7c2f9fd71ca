"""What is exported: a compiled model unrolled, or a textbook Transformer as it is."""

from __future__ import annotations

from espalier.compiler import CompiledModel
from espalier.errors import CompileError, ModelError
from espalier.nets import PlainTransformer

Model = CompiledModel | PlainTransformer


def plain_of(model: Model, layers: int | None, positions: int | None) -> PlainTransformer:
    """The textbook form of `model`, which is itself one where it has been unrolled."""
    if isinstance(model, PlainTransformer):
        if layers is not None or positions is not None:
            raise CompileError("this model is unrolled already; give layers to `unroll` instead")
        return model
    if not isinstance(model, CompiledModel):
        raise ModelError(f"a compiled or unrolled model is needed; found {type(model).__name__}")
    if layers is None:
        raise CompileError("say how deep the exported network is, as in layers=12")
    return model.unroll(layers, positions)


def absent(error: ImportError, package: str, extra: str) -> ModelError:
    """The error for a tool that is not installed."""
    return ModelError(f"{package} is needed ({error}); pip install 'espalier[{extra}]' has it")
