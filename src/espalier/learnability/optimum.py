"""Whether compiled MLP parameters are a local optimum of the regularised loss (B.4 to B.8).

The loss is eq. 17: alpha times the L1 norm of W1, b1 and W2, plus the L1 distance between what the
MLP writes and what it should, summed over the distinct assignments D that the MLP sees. Moving one
parameter moves one hidden unit g, which is an integer on all of D, so the loss is linear on either
side and its one-sided derivatives are counts. With c = sum_i |W2_ij|, the unit j, and N(...) the
number of assignments of D for which (...) holds:

    W2_ij           right  +N(g = 1)               left  -N(g = 1)
    b1_j            right  +c N(g = 0)             left  -c N(g = 1)
    W1_jk           right  +c N(g = 0, z_k = 1)    left  -c N(g = 1, z_k = 1)

and the penalty adds alpha, with the sign of the parameter, on both sides; at 0 it adds alpha on the
right and -alpha on the left. So a parameter at 0 is always at a strict minimum (Lemma 2), and any
other is exactly if the data push it away from 0 harder than the penalty pulls it there.

The paper's Theorem 1 says more than that, and more than is true: see `LocalOptimum.removable`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np

from espalier.errors import ConfigError, is_one_of, nearest
from espalier.language import Atom, Program, Rule
from espalier.learnability.assignments import mlp_inputs, training_set
from espalier.learnability.constraints import is_needed
from espalier.learnability.parameters import (
    Evidence,
    RuleParameters,
    gather,
    nearly_without,
    rule_parameters,
)
from espalier.learnability.verdict import Derivatives, LocalOptimum

Penalty = Literal["l1", "l2"]


def local_optimum(
    program: Program,
    inputs: Iterable[Iterable[object]],
    *,
    alpha: float = 0.5,
    penalty: Penalty = "l1",
    max_layers: int | None = None,
) -> LocalOptimum:
    """Whether `program`'s rules, as MLP parameters, are a strict coordinate-wise local optimum.

    `inputs` are the training set, and `alpha` weighs the penalty, the sum of absolute values or of
    squares of all parameters. `max_layers` stops a program that does not halt by itself.

    >>> import espalier as es
    >>> entry = es.zoo.load("parity-sequential-relative")
    >>> inputs = [entry.encode(bits) for bits in ("1", "01", "110", "0111")]
    >>> es.local_optimum(es.minimal(entry.program, inputs), inputs).holds
    True
    """
    if not is_one_of(penalty, get_args(Penalty)):
        raise ConfigError(f"penalty is {penalty!r}; {nearest(penalty, get_args(Penalty))}")
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0 < alpha < np.inf:
        raise ConfigError(f"alpha must be a positive number; found {alpha!r}")
    sequences, max_layers = training_set(program, inputs, max_layers)
    assignments, _ = mlp_inputs(program, sequences, max_layers=max_layers)
    parameters = rule_parameters(program)
    evidence = gather(parameters, assignments)
    removable = _removable(parameters, evidence)
    return LocalOptimum(
        parameters=parameters,
        assignments=len(assignments),
        alpha=float(alpha),
        penalty=penalty,
        derivatives=_differentiate(parameters, evidence),
        removable=removable,
        guards=tuple(one for one in removable if is_needed(assignments, *one)),
    )


def _differentiate(parameters: RuleParameters, evidence: Evidence) -> Derivatives:
    """The one-sided derivatives of the reconstruction loss: right ones, and left ones negated."""
    reach = parameters.reach
    return Derivatives(
        w1_right=reach[:, None] * evidence.nearly_with,
        w1_left=reach[:, None] * evidence.holds_with,
        b1_right=reach * evidence.nearly,
        b1_left=reach * evidence.holds,
        w2=evidence.holds.astype(np.float64),
    )


def _removable(parameters: RuleParameters, evidence: Evidence) -> tuple[tuple[Rule, Atom], ...]:
    return tuple(
        (rule, atom)
        for unit, rule in enumerate(parameters.program.rules)
        for atom in rule.antecedent
        if atom.variable != rule.output
        and nearly_without(parameters, evidence, unit, atom.variable) == 0
    )
