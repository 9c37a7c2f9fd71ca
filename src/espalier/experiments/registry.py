"""Every experiment by its name."""

from __future__ import annotations

from espalier.errors import ConfigError, nearest
from espalier.experiments import (
    architectures,
    english_architectures,
    english_figures,
    further_claims,
    length_split,
    minimal_figures,
    parity_figures,
    probe_methods,
    protocols,
    scaffold_claims,
    scaffold_figures,
    scan_figures,
    syntax_claims,
    syntax_figures,
)
from espalier.experiments.experiment import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    **syntax_figures.EXPERIMENTS,
    **syntax_claims.EXPERIMENTS,
    **scaffold_figures.EXPERIMENTS,
    **scaffold_claims.EXPERIMENTS,
    **further_claims.EXPERIMENTS,
    **architectures.EXPERIMENTS,
    **protocols.EXPERIMENTS,
    **minimal_figures.EXPERIMENTS,
    **parity_figures.EXPERIMENTS,
    **scan_figures.EXPERIMENTS,
    **length_split.EXPERIMENTS,
    **english_figures.EXPERIMENTS,
    **english_architectures.EXPERIMENTS,
    **probe_methods.EXPERIMENTS,
}


def names() -> dict[str, str]:
    """Every experiment's name and what it shows.

    >>> names()["bottom-up-figure-12"]
    'gradient magnitudes along the scaffold'
    """
    return {name: one.summary for name, one in sorted(EXPERIMENTS.items())}


def find(name: str) -> Experiment:
    """The experiment called `name`."""
    if not isinstance(name, str) or name not in EXPERIMENTS:
        raise ConfigError(f"there is no experiment {name!r}; {nearest(name, EXPERIMENTS)}")
    return EXPERIMENTS[name]
