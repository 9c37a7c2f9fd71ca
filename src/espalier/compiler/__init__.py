"""Programs into weights: one pass a file, in reading order, and the model they make."""

from espalier.compiler.compile import compile_program
from espalier.compiler.decoder import WeightsDecoder
from espalier.compiler.decoding import NOT_A_VALUE, NULL, TOLERANCE, Column, decode, is_exact
from espalier.compiler.encoding import encode
from espalier.compiler.files import FORMAT
from espalier.compiler.layout import lay_out
from espalier.compiler.model import CompiledModel, load_compiled, pad

__all__ = [
    "FORMAT",
    "NOT_A_VALUE",
    "NULL",
    "TOLERANCE",
    "Column",
    "CompiledModel",
    "WeightsDecoder",
    "compile_program",
    "decode",
    "encode",
    "is_exact",
    "lay_out",
    "load_compiled",
    "pad",
]
