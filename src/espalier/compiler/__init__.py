"""Programs into weights: one file per pass, in reading order, and the compiled model."""

from espalier.compiler.basis import Basis, Realism
from espalier.compiler.batches import pad
from espalier.compiler.cache import RunCache
from espalier.compiler.compile import compile_program
from espalier.compiler.decoder import WeightsDecoder
from espalier.compiler.decoding import (
    NOT_A_VALUE,
    NULL,
    TOLERANCE,
    Column,
    decode,
    is_exact,
    tolerance,
)
from espalier.compiler.encoding import encode, encode_meanings
from espalier.compiler.files import FORMAT
from espalier.compiler.interventions import Intervener, LastPositions
from espalier.compiler.layout import Layout, lay_out
from espalier.compiler.margins import Dial, Margins, margins
from espalier.compiler.model import CompiledModel, load_compiled
from espalier.compiler.open_runs import probed_runs, run_with_plan

__all__ = [
    "FORMAT",
    "NOT_A_VALUE",
    "NULL",
    "TOLERANCE",
    "Basis",
    "Column",
    "CompiledModel",
    "Dial",
    "Intervener",
    "LastPositions",
    "Layout",
    "Margins",
    "Realism",
    "RunCache",
    "WeightsDecoder",
    "compile_program",
    "decode",
    "encode",
    "encode_meanings",
    "is_exact",
    "lay_out",
    "load_compiled",
    "margins",
    "pad",
    "probed_runs",
    "run_with_plan",
    "tolerance",
]
