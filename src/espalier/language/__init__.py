"""What a program is: variables, heads, rules, and the checks that make them a whole. No torch."""

from espalier.language.builder import RuleBuilder
from espalier.language.exploration import Estimate, ExplorationWarning, estimate_paths
from espalier.language.heads import Halt, Head, halt_spec, qkv, v_relative
from espalier.language.program import Program, program_spec
from espalier.language.rules import Atom, Rule, RuleSet
from espalier.language.runs import Run, Runs
from espalier.language.validation import ByInput, ByPosition, Constant, Initial
from espalier.language.variables import (
    Categorical,
    Numerical,
    SetValued,
    Value,
    Variable,
    as_integer,
    numerical_var,
    set_var,
    show_value,
    var,
)
from espalier.language.written import Generation, Written

__all__ = [
    "Atom",
    "ByInput",
    "ByPosition",
    "Categorical",
    "Constant",
    "Estimate",
    "ExplorationWarning",
    "Generation",
    "Halt",
    "Head",
    "Initial",
    "Numerical",
    "Program",
    "Rule",
    "RuleBuilder",
    "RuleSet",
    "Run",
    "Runs",
    "SetValued",
    "Value",
    "Variable",
    "Written",
    "as_integer",
    "estimate_paths",
    "halt_spec",
    "numerical_var",
    "program_spec",
    "qkv",
    "set_var",
    "show_value",
    "v_relative",
    "var",
]
