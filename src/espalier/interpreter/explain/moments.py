"""The moments of a run that nodes belong to: 2k after layer k, 2k - 1 in its middle."""

from __future__ import annotations

from espalier.interventions import Node


def moment_of(node: Node) -> int:
    """The number of the state that a node belongs to."""
    return 2 * node.layer - (node.sublayer == "attention")


def node_at(moment: int, variable: str, position: int) -> Node:
    """The node of a variable at a moment."""
    return Node((moment + 1) // 2, "attention" if moment % 2 else "mlp", variable, position)
