"""What makes the laws draw the same examples in every run: any order, any worker, any selection.

Hypothesis mixes the constants of local modules loaded so far into what it draws, so that a law
would depend on which tests a worker had run before it. Here it reads all sources at the start.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent
FOLDERS = {"src": ROOT / "src", "benchmarks": ROOT, "docs": ROOT, "examples": ROOT}
BUILT = ROOT / "docs" / "_build"  # not everyone has built them


def name_every_source() -> None:
    """Afterwards `sys.modules` names every source file, loaded or not, by an empty module.

    Nothing is imported: optional packages need not be there, and what is lazy stays so.
    """
    for folder, root in FOLDERS.items():
        for file in sorted(set((ROOT / folder).rglob("*.py")) - set(BUILT.rglob("*.py"))):
            name = ".".join(file.relative_to(root).with_suffix("").parts)
            module = ModuleType(name.removesuffix(".__init__"))
            module.__file__ = str(file)
            sys.modules[f"source of {name}"] = module


def take_one_core() -> None:
    """Afterwards a worker of several computes on one thread, as do the processes it starts.

    Workers fill the cores: their threads would wait for each other, for most of the time of a test.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        os.environ.setdefault("OMP_NUM_THREADS", "1")


def seed_everything() -> None:
    """Afterwards the global generators stand where they stand before any other test."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)
