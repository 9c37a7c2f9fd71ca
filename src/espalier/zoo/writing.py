"""How programs that write each variable once keep their rules few."""

from __future__ import annotations

from espalier.language import RuleBuilder


def write_once(builder: RuleBuilder, name: str, value: int) -> None:
    """Write a variable where it still has its first value, 0: one rule, not one per old value."""
    for old in builder.get(name):
        if old == 0:
            builder.set(name, value)
