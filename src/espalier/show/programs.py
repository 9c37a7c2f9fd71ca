"""Programs, and what running, verifying and evaluating them found, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from espalier.errors import ProgramError
from espalier.language import show_value
from espalier.show.text import count, first_lines

if TYPE_CHECKING:
    from espalier.compiler import Dial, Margins
    from espalier.language import Generation, Program, Rule, Run, Runs
    from espalier.programs import Evaluation, Verification
    from espalier.zoo import Entry

SHOWN = 10


def program_text(program: Program) -> str:
    """Its variables, its heads, how many rules it has and when it halts."""
    lines = [
        f"program: {program.rules.summary}, output {program.output_name}",
        *(f"  {name}: {spec}" for name, spec in program.variables.items()),
        *(f"  {name}: head, {head}" for name, head in program.heads.items()),
    ]
    if program.halt is not None:
        value = program.write(program.halt.variable, program.halt.value)
        lines.append(f"  halts when {program.halt.variable} = {value} everywhere")
    if program.causal:
        lines.append("  causal: a position sees itself and those to its left")
    return "\n".join(lines)


def idle_text(idle: Sequence[object]) -> str:
    """The interventions that touched nothing, one line each."""
    return "".join(f"\n  touched nothing: {one}" for one in idle)


def listed_rules(program: Program) -> Sequence[Rule] | None:
    """The rules; None where a program is a function that has more than can be listed."""
    try:
        return tuple(program.rules)
    except ProgramError:
        return None


def entry_text(entry: Entry) -> str:
    """Its name, what it computes, and the program."""
    return f"{entry.name or 'a program'}: {entry.summary or 'without a summary'}\n{entry.program}"


def run_text(run: Run) -> str:
    """The number of layers and the outputs."""
    ending = "" if run.halted else ", not halted"
    outputs = " ".join(map(show_value, run.outputs))
    return f"{count(run.layers, 'layer')}{ending}: {outputs}{idle_text(run.idle)}"


def runs_text(runs: Runs) -> str:
    """One line per run, for the first ones."""
    lines = [f"  {run_text(run)}" for run in runs[:SHOWN]]
    return "\n".join([count(len(runs), "run"), *lines, *["  ..."] * (len(runs) > SHOWN)])


def generation_text(generation: Generation) -> str:
    """Prompt and written tokens."""
    prompt, written = (" ".join(map(str, some)) for some in (generation.prompt, generation.tokens))
    ending = "stopped" if generation.stopped else "cut off"
    after = f"{ending} after {count(len(generation.tokens), 'token')}"
    return f"{prompt}  ->  {written}   ({after}){idle_text(generation.idle)}"


def verification_text(found: Verification) -> str:
    """How much was compared, and the first disagreements."""
    head = (
        f"{count(found.inputs, 'input')}, {count(found.layers, 'layer')}, "
        f"{count(found.values, 'value')} compared: "
        f"{'all agree' if found.ok else count(found.count, 'disagreement')}"
    )
    if found.errors:
        head += f", {count(len(found.errors), 'input')} refused by the interpreter"
    if found.edited:
        head += " (the weights were edited since they were compiled)"
    places = first_lines(map(str, found.disagreements), SHOWN)
    refused = first_lines((f"input {n}: {why}" for n, why in found.errors.items()), SHOWN)
    return "\n".join([head, *(f"  {line}" for line in [*places, *refused])])


def evaluation_text(found: Evaluation) -> str:
    """How many answers are right, and what that took."""
    right = sum(row["right"] for row in found.rows)
    return (
        f"{right:,} of {len(found.rows):,} right ({found.accuracy:.2%}), at most "
        f"{count(found.layers, 'layer')}, {found.seconds:.1f} s"
    )


def margins_text(found: Margins) -> str:
    """A line for each dial: how far it goes, and what gives way."""
    start = str(found.realism).replace(", proven=False", "").replace("proven=False", "plain")
    lines = [f"{count(found.inputs, 'input')}, from {start}:"]
    return "\n".join(lines + [f"  {dial.name:<12}{_reach(dial)}" for dial in found.dials])


def _reach(dial: Dial) -> str:
    if dial.name == "rotation":
        right = "no seed right" if dial.right is None else f"{dial.right:g} seeds right"
        return (
            right if dial.wrong is None else f"{right}, seed {dial.wrong:g} wrong: {dial.culprit}"
        )
    right = "nothing right" if dial.right is None else f"right to {dial.right:.3g}"
    return right if dial.wrong is None else f"{right}, wrong at {dial.wrong:.3g}: {dial.culprit}"
