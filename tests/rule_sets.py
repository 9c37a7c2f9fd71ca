"""Random rule sets with the assignments that they are judged by: Appendix B's R and D."""

from __future__ import annotations

import itertools

from hypothesis import strategies as st

from dice import Dice
from espalier.language import Rule, program_spec, var
from functions import Access
from strategies import Case, Table, exclusive, random_rule


@st.composite
def rule_sets(draw) -> Case:
    """Rules over categorical variables without heads, and some of all assignments as tokens."""
    dice = Dice(draw)
    sizes = [dice.number(2, 3) for _ in range(dice.number(2, 3))]
    every = list(itertools.product(*map(range, sizes)))
    data = dice.some(every, least=1, most=8)
    variables = {
        f"v{k}": var(size, input_init_fn=Table(tuple(here[k] for here in data)))
        for k, size in enumerate(sizes)
    }
    rules: list[Rule] = []
    for _ in range(dice.number(1, 4)):
        rule = random_rule(dice, Access(variables, list(variables), list(variables)))
        if all(exclusive(rule, other) for other in rules):
            rules.append(rule)
    program = program_spec(
        variables=variables, rules=rules, output_name="v0", input_range=len(data)
    )
    return Case(program, [list(range(len(data)))], 1)
