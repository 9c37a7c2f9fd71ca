"""What a program is: variables, heads, rules, and the checks on all of them. No torch."""

from espalier.language.batches import chunks
from espalier.language.builder import RuleBuilder
from espalier.language.conflicts import find_conflict
from espalier.language.exact import meant
from espalier.language.exploration import Estimate, ExplorationWarning, estimate_paths
from espalier.language.halting import can_halt, halting_variables, rules_that_may_hold
from espalier.language.heads import Halt, Head, halt_spec, qkv, v_relative
from espalier.language.lazy import Decision, LazyRules, Path
from espalier.language.means import part_tables, place_means, within_bucket
from espalier.language.numbers import Parts, lowest_bit, parts_of, span
from espalier.language.program import Program, check_batch, check_layers, program_spec
from espalier.language.records import from_record, program_hash, to_record
from espalier.language.rules import Atom, Rule, RuleSet
from espalier.language.runs import Run, Runs
from espalier.language.text import TextFormat
from espalier.language.validation import ByInput, ByPosition, Constant, Initial, check_range
from espalier.language.variables import (
    Categorical,
    Numerical,
    SetValued,
    Value,
    Variable,
    as_integer,
    as_items,
    numerical_var,
    set_var,
    show_value,
    var,
    without_functions,
)
from espalier.language.written import Generation, Written

__all__ = [
    "Atom",
    "ByInput",
    "ByPosition",
    "Categorical",
    "Constant",
    "Decision",
    "Estimate",
    "ExplorationWarning",
    "Generation",
    "Halt",
    "Head",
    "Initial",
    "LazyRules",
    "Numerical",
    "Parts",
    "Path",
    "Program",
    "Rule",
    "RuleBuilder",
    "RuleSet",
    "Run",
    "Runs",
    "SetValued",
    "TextFormat",
    "Value",
    "Variable",
    "Written",
    "as_integer",
    "as_items",
    "can_halt",
    "check_batch",
    "check_layers",
    "check_range",
    "chunks",
    "estimate_paths",
    "find_conflict",
    "from_record",
    "halt_spec",
    "halting_variables",
    "lowest_bit",
    "meant",
    "numerical_var",
    "part_tables",
    "parts_of",
    "place_means",
    "program_hash",
    "program_spec",
    "qkv",
    "rules_that_may_hold",
    "set_var",
    "show_value",
    "span",
    "to_record",
    "v_relative",
    "var",
    "within_bucket",
    "without_functions",
]
