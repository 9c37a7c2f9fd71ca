"""The names of the public ALTA package: with another import its programs are read unchanged.

    from framework import program_builder as pb     # becomes
    from espalier import alta as pb

What is returned are espalier's own variables, heads and programs, so `interpret`, `compile_program`
and everything else take them. Three things differ, and are refused rather than guessed: a rule that
sets an ordinary variable to None; one that writes beyond a variable's range (say
`out_of_range="saturate"` where `var` is called); and two rules that can hold together. Where such
writes are known to happen in no run, `from espalier.alta import lenient as pb` takes them.
"""

from espalier.alta import lenient
from espalier.alta.builder import (
    RELATIVE_QK,
    MLPBuilder,
    halt_spec,
    input_var,
    numeric_var,
    position_var,
    program_spec,
    program_spec_from_rules,
    qkv,
    set_var,
    v_relative,
    var,
)

__all__ = [
    "RELATIVE_QK",
    "MLPBuilder",
    "halt_spec",
    "input_var",
    "lenient",
    "numeric_var",
    "position_var",
    "program_spec",
    "program_spec_from_rules",
    "qkv",
    "set_var",
    "v_relative",
    "var",
]
