"""What can be changed in the middle of a run, with one meaning in both machines; no engine here."""

from espalier.interventions.checks import as_lists, make_plan
from espalier.interventions.kinds import (
    Copy,
    Cut,
    Intervention,
    Interventions,
    KnockOut,
    Mean,
    Node,
    Set,
    Source,
    Sublayer,
)
from espalier.interventions.plan import Plan, Rows
from espalier.interventions.units import Units
from espalier.interventions.values import settable

__all__ = [
    "Copy",
    "Cut",
    "Intervention",
    "Interventions",
    "KnockOut",
    "Mean",
    "Node",
    "Plan",
    "Rows",
    "Set",
    "Source",
    "Sublayer",
    "Units",
    "as_lists",
    "make_plan",
    "settable",
]
