"""Programs into weights: one pass a file, in reading order, and the model they make."""

from espalier.compiler.compile import compile_program
from espalier.compiler.files import FORMAT, load_compiled
from espalier.compiler.model import CompiledModel

__all__ = ["FORMAT", "CompiledModel", "compile_program", "load_compiled"]
