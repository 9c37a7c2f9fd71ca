"""Reading the manifest of a run, which the user may have edited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from espalier.errors import FileError, is_number


def read_manifest(file: Path) -> dict[str, Any]:
    """The manifest in a file, checked."""
    try:
        found = json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:  # of JSON, or of UTF-8
        raise FileError(f"{file} is not JSON ({error}); is this folder a run?") from error
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror}") from error
    return _checked(file, found)


def _checked(file: Path, found: Any) -> dict[str, Any]:
    """What was read, if it is a run's manifest: edited by hand, it may be anything."""
    wanted = {"kind": str, "status": str, "config": dict, "data": dict, "began": str}
    if not isinstance(found, dict):
        why = f"it holds a {type(found).__name__}"
    elif missing := [name for name in (*wanted, "seconds") if name not in found]:
        why = f"it lacks {missing[0]!r}"
    elif wrong := [name for name, kind in wanted.items() if not isinstance(found[name], kind)]:
        why = f"its {wrong[0]!r} is {str(found[wrong[0]])[:40]!r}"
    elif not is_number(found["seconds"]):
        why = f"its 'seconds' are {str(found['seconds'])[:40]!r}"
    else:
        return found
    raise FileError(
        f"{file} is not a run's; is this folder a run? give another folder, or correct it ({why})"
    )
