"""espalier: how sequence models compose meaning.

Programs into Transformers: write an algorithm with `espalier.language`, run it on symbols with
`interpret`, turn it into weights with `compile_program`, and compare the two with `verify`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from espalier import language, plots, zoo
    from espalier.compiler import CompiledModel, compile_program, load_compiled
    from espalier.errors import (
        CompileError,
        EspalierError,
        FileError,
        ProgramError,
        UndefinedError,
    )
    from espalier.interpreter import Trace, interpret, interpret_many
    from espalier.language import Program, Run, Runs, program_spec
    from espalier.verification import Disagreement, Verification, verify

# Where each public name lives. They are imported when first used, so that a program can be
# written and interpreted without waiting for torch.
_HOMES = {
    "CompileError": "espalier.errors",
    "CompiledModel": "espalier.compiler",
    "Disagreement": "espalier.verification",
    "EspalierError": "espalier.errors",
    "FileError": "espalier.errors",
    "Program": "espalier.language",
    "ProgramError": "espalier.errors",
    "Run": "espalier.language",
    "Runs": "espalier.language",
    "Trace": "espalier.interpreter",
    "UndefinedError": "espalier.errors",
    "Verification": "espalier.verification",
    "compile_program": "espalier.compiler",
    "interpret": "espalier.interpreter",
    "interpret_many": "espalier.interpreter",
    "load_compiled": "espalier.compiler",
    "program_spec": "espalier.language",
    "verify": "espalier.verification",
}
_ROOMS = ("language", "plots", "zoo")

__all__ = [
    "CompileError",
    "CompiledModel",
    "Disagreement",
    "EspalierError",
    "FileError",
    "Program",
    "ProgramError",
    "Run",
    "Runs",
    "Trace",
    "UndefinedError",
    "Verification",
    "__version__",
    "compile_program",
    "interpret",
    "interpret_many",
    "language",
    "load_compiled",
    "plots",
    "program_spec",
    "verify",
    "zoo",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _ROOMS:
        value = import_module(f"espalier.{name}")
    else:
        raise AttributeError(f"module 'espalier' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
