"""A program, and everything that can be refused before it runs.

A `Program` is data: init functions have become tables, the MLP function has become rules. Both
machines, the interpreter and the compiled network, start from it and from nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from espalier.errors import LONGEST_RUN, ProgramError, nearest
from espalier.language.builder import RuleBuilder
from espalier.language.conflicts import find_conflict
from espalier.language.exploration import FfnFunction
from espalier.language.heads import Halt, Head
from espalier.language.lazy import LazyRules, resets
from espalier.language.merging import merge_rules
from espalier.language.numbers import held_numbers
from espalier.language.rules import Rule, RuleSet, as_rules
from espalier.language.text import TextFormat, check_text
from espalier.language.validation import (
    Initial,
    check_causal,
    check_halt,
    check_output,
    check_positive,
    check_range,
    check_rule,
    check_vocabulary,
    initial_values,
)
from espalier.language.value_names import (
    ValueNames,
    check_value_names,
    names_of_values,
    write_rule,
    write_value,
)
from espalier.language.variables import (
    MOST_ITEMS,
    Categorical,
    Numerical,
    Value,
    Variable,
    as_integer,
    as_items,
    show_value,
    without_functions,
)
from espalier.language.wiring import all_variables
from espalier.results import Result

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Program(Result):
    """Variables, heads and rules; made by `program_spec`, which checks them.

    >>> from espalier.language import program_spec, var
    >>> inverted = lambda z: z.update(x=1 - z["x"])
    >>> bits = {"x": var(2, input_init_fn=lambda token: token)}
    >>> len(program_spec(bits, ffn_fn=inverted, input_range=2, output_name="x").rules)
    2
    """

    variables: Mapping[str, Variable]
    heads: Mapping[str, Head]
    rules: RuleSet
    initial: Mapping[str, Initial]
    output_name: str
    input_range: int
    position_range: int | None = None
    halt: Halt | None = None
    vocabulary: tuple[str, ...] | None = None
    causal: bool = False  # a position sees itself and what is to its left, as in a decoder (A.3)
    text: TextFormat | None = None  # how people write to it and read its answer
    value_names: ValueNames = field(default_factory=dict)  # how its author writes values

    @cached_property
    def specs(self) -> dict[str, Variable]:
        """Every variable by name, the outputs of heads last."""
        return all_variables(self.variables, self.heads)

    @cached_property
    def _token_ids(self) -> dict[str, int]:
        return {name: token for token, name in enumerate(self.vocabulary or ())}

    @cached_property
    def written(self) -> frozenset[str]:
        """The variables that some rule writes, resets aside."""
        return frozenset(rule.output for rule in self.rules if not rule.is_reset)

    @cached_property
    def read(self) -> frozenset[str]:
        """The variables that some rule reads, resets aside."""
        return frozenset(
            atom.variable for rule in self.rules if not rule.is_reset for atom in rule.antecedent
        )

    @cached_property
    def held(self) -> dict[str, tuple[float, ...]]:
        """Every number that a numerical variable, no head's output, may hold: not only buckets."""
        numerical = (name for name in self.variables if isinstance(self.specs[name], Numerical))
        return {name: held_numbers(self, name) for name in numerical}

    def write(self, variable: str, value: Value | None) -> str:
        """A value as the program's author writes it.

        >>> import espalier as es
        >>> es.zoo.load("scan").program.write("phase", 0)
        'PARSE'
        """
        return write_value(self.specs[variable], self.derived(names_of_values)[variable], value)

    def write_rule(self, rule: Rule) -> str:
        """A rule with its values as the program's author writes them."""
        return write_rule(self, rule)

    def derived(self, make: Callable[[Program], T]) -> T:
        """`make(self)`, computed once and cached as long as the program lives.

        Two threads may both compute it; one of the two results is cached.
        """
        cache: dict[object, Any] = self.__dict__.setdefault("_derived", {})
        return cache[make] if make in cache else cache.setdefault(make, make(self))  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what was derived from them is made again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def output(self) -> Categorical:
        """The output variable."""
        spec = self.specs[self.output_name]
        assert isinstance(spec, Categorical)
        return spec

    def merged(self) -> Program:
        """The same program with rules joined into "x in S" where that makes the MLP narrower."""
        return replace(self, rules=RuleSet(merge_rules(self.rules)))

    def with_rules(self, rules: Iterable[Rule]) -> Program:
        """The same program with exactly these rules, resets included."""
        return replace(self, rules=RuleSet(_check_rules(rules, self.specs, frozenset(self.heads))))

    def to_frame(self) -> pandas.DataFrame:
        """One row per rule: its variable, its conditions, the old value and the new one."""
        import pandas as pd

        rows = [
            (
                rule.output,
                ", ".join(map(str, rule.antecedent)),
                *map(show_value, (rule.old, rule.new)),
            )
            for rule in self.rules
        ]
        return pd.DataFrame(rows, columns=["variable", "conditions", "old", "new"])

    def tokens(self, sequence: Iterable[object]) -> tuple[int, ...]:
        """`sequence` as token ids (or names of the vocabulary), refused if the program can't run.

        Refused are an empty sequence, a token outside `input_range`, and more tokens than
        `position_range`.
        """
        plain = sequence.tolist() if hasattr(sequence, "tolist") else sequence
        given = as_items(plain, "the input, a sequence of tokens,")
        if not given:
            raise ProgramError("the input is empty; a program needs at least one token")
        if self.position_range is not None and len(given) > self.position_range:
            raise ProgramError(
                f"the input has {len(given)} tokens, more than position_range = "
                f"{self.position_range}; build the program with a larger one"
            )
        return tuple(self._token(token, place) for place, token in enumerate(given))

    def _token(self, token: object, place: int) -> int:
        if type(token) is int and 0 <= token < self.input_range:
            return token
        if isinstance(token, str) and self.vocabulary is not None:
            if token not in self._token_ids:
                raise ProgramError(
                    f"position {place} holds {token!r}, which is not in the vocabulary; "
                    f"{nearest(token, self.vocabulary)}"
                )
            return self._token_ids[token]
        number = as_integer(token, f"the token at position {place}")
        if not 0 <= number < self.input_range:
            raise ProgramError(
                f"position {place} holds token {number}, outside input_range 0.."
                f"{self.input_range - 1}"
            )
        return number


def program_spec(
    variables: Mapping[str, Variable],
    heads: Mapping[str, Head] | None = None,
    *,
    ffn_fn: FfnFunction | None = None,
    rules: Iterable[Rule] | object | None = None,
    output_name: str,
    input_range: int,
    position_range: int | None = None,
    halt_spec: Halt | None = None,
    vocabulary: Sequence[str] | None = None,
    causal: bool = False,
    text: TextFormat | None = None,
    value_names: Mapping[str, Sequence[str]] | None = None,
    max_paths: int = 1_000_000,
) -> Program:
    """A checked program, from its MLP function or from its rules.

    `rules` is a list of `Rule` or a `RuleBuilder`; the resets of head outputs are added. An
    `ffn_fn` is explored along at most `max_paths` paths; with `rules="lazy"` only when its rules
    are needed, which `interpret` does without. `vocabulary` names the tokens. In a
    `causal` program a position sees only its left, and `generate` can write with it. With `text` a
    compiled model answers a text by `run_text`, also when read from a file. `value_names` says how
    you write the values of a variable, for traces, pages and the explorer.

    >>> from espalier.language import var
    >>> def step(z):
    ...     z["x"] = 1 - z["x"]
    >>> program = program_spec(
    ...     variables={"x": var(2, input_init_fn=lambda token: token)},
    ...     ffn_fn=step, output_name="x", input_range=2,
    ... )
    >>> len(program.rules)
    2
    """
    heads = {} if heads is None else heads
    specs = all_variables(variables, heads)
    max_paths = check_positive("max_paths", max_paths)
    input_range = check_range("input_range", input_range)
    if position_range is not None:
        position_range = check_range("position_range", position_range)
    check_output(output_name, variables, heads)
    check_halt(halt_spec, variables, heads)
    ranges = (input_range, position_range)
    initial = {name: initial_values(name, spec, *ranges) for name, spec in variables.items()}
    written = _rules(ffn_fn, rules, specs, frozenset(heads), max_paths)
    output = specs[output_name]
    return Program(
        variables={name: without_functions(spec) for name, spec in variables.items()},
        heads=dict(heads),
        rules=written,
        initial=initial,
        output_name=output_name,
        input_range=input_range,
        position_range=position_range,
        halt=halt_spec,
        vocabulary=check_vocabulary(vocabulary, input_range),
        causal=check_causal(causal, heads),
        text=check_text(text, tokens=input_range, outputs=len(output.values)),
        value_names=check_value_names(value_names, specs),
    )


def check_layers(program: Program, max_layers: object) -> int | None:
    """`max_layers` as an integer or None; ProgramError if the program could then run for ever."""
    if not isinstance(program, Program):
        raise ProgramError(f"a Program is needed, made by program_spec; found {program!r}")
    if max_layers is None:
        if program.halt is None:
            raise ProgramError("the program has no halt_spec; say how long to run with max_layers")
        return None
    layers = as_integer(max_layers, "max_layers")
    if layers < 0:
        raise ProgramError(f"max_layers must not be negative; found {layers}")
    if program.halt is None and layers > LONGEST_RUN:
        raise ProgramError(
            f"max_layers is {layers}, and the program has no halt_spec that ends it sooner; give "
            f"at most {LONGEST_RUN:,}"
        )
    return layers


def check_batch(program: Program, batch: Iterable[Iterable[object]]) -> list[tuple[int, ...]]:
    """Every sequence of a batch as token ids; the error names the one that is refused."""
    what = "the batch, a list of sequences,"
    is_list = hasattr(batch, "__len__") or not hasattr(batch, "__iter__")
    checked, total = [], 0
    for number, sequence in enumerate(as_items(batch, what) if is_list else batch):
        try:
            checked.append(program.tokens(sequence))  # type: ignore[arg-type]
        except ProgramError as error:
            raise ProgramError(f"input {number}: {error}") from None
        total += len(checked[-1])
        if total > MOST_ITEMS and not is_list:
            raise ProgramError(
                f"{what} is an iterator ({type(batch).__name__}) that has not ended after "
                f"{number + 1:,} sequences with {total:,} tokens; give it as a list"
            )
    return checked


def _rules(
    ffn_fn: FfnFunction | None,
    rules: object | None,
    specs: Mapping[str, Variable],
    heads: frozenset[str],
    max_paths: int,
) -> RuleSet:
    """All rules of a program, with a reset for each value of a head's output that has none."""
    is_lazy = isinstance(rules, str) and rules == "lazy"
    if (ffn_fn is None) == (rules is None or is_lazy):
        found = "neither" if ffn_fn is None else "both"
        raise ProgramError(f"give either ffn_fn or rules; found {found}")
    if ffn_fn is not None and not callable(ffn_fn):
        raise ProgramError(f"ffn_fn must be a function of one argument; found {ffn_fn!r}")
    if ffn_fn is not None:
        lazy = LazyRules(ffn_fn, specs, heads, max_paths)
        return lazy if is_lazy else RuleSet(lazy)
    checked = _check_rules(rules, specs, heads)
    given = {(rule.output, rule.old) for rule in checked if rule.is_reset}
    missing = [rule for rule in resets(specs, heads) if (rule.output, rule.old) not in given]
    return RuleSet([*checked, *missing])


def _check_rules(rules: object, specs: Mapping[str, Variable], heads: frozenset[str]) -> list[Rule]:
    checked = as_rules(rules)
    # A builder has checked what it wrote, if it wrote it for these variables.
    if not isinstance(rules, RuleBuilder) or rules.variables != specs:
        checked = [check_rule(rule, specs, heads) for rule in checked]
        checked = [rule for rule in checked if rule.old != rule.new]
    clash = find_conflict(checked)
    if clash:
        raise ProgramError(
            f"two rules of {clash[0].output!r} can hold together: [{clash[0]}] and [{clash[1]}]; "
            "make their conditions exclude each other"
        )
    return checked
