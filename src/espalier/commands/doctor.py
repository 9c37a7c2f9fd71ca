"""`espalier doctor`: describe this installation, and check that it works."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from espalier.commands.show import console, show_pairs
from espalier.version import __version__

REQUIRED = ("torch", "numpy", "safetensors", "pandas", "pyarrow", "matplotlib", "jaxtyping")


def doctor_command() -> None:
    """Report versions, devices and data, and compile and verify one program. Exit 1 on failure."""
    import platform

    from espalier import zoo
    from espalier.programs import verify

    show_pairs(
        {
            "espalier": __version__,
            "python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
            **{name: _version(name) for name in REQUIRED},
            "devices": _devices(),
            "data": _data(),
        }
    )
    missing = [name for name in REQUIRED if _version(name) == "missing"]
    entry = zoo.load("parity-sequential-relative")
    batch = [entry.encode(bits) for bits in entry.samples(50, size=20)]
    found = verify(entry.program, batch)
    console().print(f"self-check: {found}", highlight=False)
    if missing or not found.ok:
        console().print("something is wrong: reinstall with pip install -e .", style="bold red")
        sys.exit(1)
    console().print("all is well")


def _version(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"


def _devices() -> str:
    import torch

    cards = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    threads = torch.get_num_threads()
    return ", ".join([f"cpu with {threads} thread{'s' * (threads != 1)}", *cards])


def _data() -> str:
    folder = os.environ.get("ESPALIER_DATA")
    if folder is None:
        return "ESPALIER_DATA is not set; text corpora would be downloaded"
    if not Path(folder).is_dir():
        return f"{folder}: there is no such folder"
    found = sorted(path.name for path in Path(folder).iterdir() if path.is_dir())
    return f"{folder}: {', '.join(found) or 'nothing there'}"
