"""Minimal programs, local optima and recorded traces, as text."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from espalier.show.programs import program_text
from espalier.show.text import count, first_lines

if TYPE_CHECKING:
    from espalier.learnability import Dropped, LocalOptimum, MinimalProgram, Parameter, Traces

# Rules with offending parameters that are shown.
SHOWN = 10


def dropped_text(dropped: Dropped) -> str:
    """How much of what kind was dropped."""
    parts = {
        ("rule", "that never held"): dropped.rules,
        ("condition", "of rules that were not needed"): dropped.constraints,
        ("token", "never seen"): dropped.tokens,
        ("position", "never seen"): dropped.positions,
    }
    named = [f"{count(len(some), noun)} {why}" for (noun, why), some in parts.items() if some]
    return "dropped " + (", ".join(named) if named else "nothing")


def minimal_text(program: MinimalProgram) -> str:
    """The program, what was dropped, and two rules that can hold together where there are such."""
    lines = [program_text(program), f"  {program.dropped}"]
    if program.clash is not None:
        one, other = program.clash
        lines.append(f"  on other inputs two rules can hold together: [{one}] and [{other}]")
    return "\n".join(lines)


def optimum_text(found: LocalOptimum) -> str:
    """The verdict, the rules whose parameters offend, and why."""
    by_rule: dict[int, list[Parameter]] = defaultdict(list)
    for parameter in found.offending:
        by_rule[parameter.number].append(parameter)
    lines = [
        f"{len(found.parameters.b1):,} rules, {found.assignments:,} distinct assignments: "
        f"{len(found.offending):,} of {found.count:,} parameters offend, none for alpha below "
        f"{found.bound:g}",
        *first_lines((_rule_text(found, some) for some in by_rule.values()), SHOWN, "rules"),
    ]
    if found.removable:
        rule, atom = found.removable[0]
        lines.append(
            f"not minimal: {len(found.removable):,} conditions never fail alone, such as "
            f"{atom} of [{rule}]"
        )
    if found.guards:
        lines.append(f"{len(found.guards):,} of them keep a rule from reading null")
    head = (
        f"{'a' if found.holds else 'not a'} strict coordinate-wise local optimum with "
        f"{found.penalty.upper()} penalty, alpha = {found.alpha:g}"
    )
    return "\n".join([head, *(f"  {line}" for line in lines)])


def _rule_text(found: LocalOptimum, parameters: list[Parameter]) -> str:
    number, rule = parameters[0].number, parameters[0].rule
    why = "the penalty outweighs what the data say"
    if found.derivatives.w2[number] == 0:
        why = "it never holds"
    elif found.derivatives.b1_right[number] == 0:
        why = "it is never one condition short of holding"
    return f"rule {number} [{rule}]: {why}; {', '.join(one.name for one in parameters)}"


def traces_text(traces: Traces) -> str:
    """How many there are, of what, and where."""
    kind = "distinct traces" if traces.distinct else "traces"
    place = f" in {traces.source}" if isinstance(traces.source, Path) else ""
    return f"{traces.rows:,} {kind} of {len(traces.program.specs)} variables{place}"
