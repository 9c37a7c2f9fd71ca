"""The page a person looks at."""

from espalier.explorer.report import build_report

__all__ = ["build_report"]
