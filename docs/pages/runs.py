"""What a manifest says of its run: which Transformer it is, how far and how fast it went.

Where a manifest was carried here it may say more than a run writes: `reached`, the last step that
was measured; `taken`, the last that was taken; `untimed`, how many of these are not in its
seconds; `fitted`, how many measures in a row, up to the last, had the share that ends training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from espalier.experiments.fitted_models import SHARE
from espalier.training.configs import STOP_MEASURES

NAMES = ["layers", "shared", "positions"]
Manifests = dict[str, dict]
Kind = tuple[int, str, str]


def of_kind(manifests: Manifests, kind: str) -> Manifests:
    """Those of one kind of run."""
    return {name: one for name, one in manifests.items() if one["kind"] == kind}


def by_kind(manifests: Manifests) -> dict[Kind, dict]:
    """Runs of Transformers in order; of two of one Transformer the one that went further."""
    ordered = sorted(manifests.values(), key=lambda one: reached(one) or 0)
    found = {kind_of(one["config"]["shape"]): one for one in ordered}
    order = sorted(found, key=lambda kind: (kind[0], kind[1] == "no", kind[2] != "relative"))
    return {kind: found[kind] for kind in order}


def kind_of(shape: Mapping) -> Kind:
    """Layers, whether their weights are shared, and positions."""
    return shape["layers"], "yes" if shape["shared"] else "no", shape["positions"]


def named(kind: Kind) -> dict[str, object]:
    """The same as the first cells of a line."""
    return dict(zip(NAMES, kind, strict=True))


def recipe_of(manifest: dict) -> dict:
    """How long and with what steps it was trained."""
    config = manifest["config"]
    return config["settings"]["recipe"] if "settings" in config else config["recipe"]


def until_fitted(manifest: dict) -> bool:
    """Whether a run ends once it is fitted."""
    return recipe_of(manifest).get("stop_share") is not None


def reached(manifest: dict) -> int | None:
    """The last step that was measured, if that is known.

    A finished run that says nothing of it went to the end of its recipe, if nothing else ends it.
    """
    if "reached" in manifest:
        return int(manifest["reached"])
    sure = manifest["status"] == "finished" and not until_fitted(manifest)
    return int(recipe_of(manifest)["steps"]) if sure else None


def steps_of(manifest: dict) -> str:
    """The last step that was measured, for a table."""
    step = reached(manifest)
    return "-" if step is None else f"{step:,}"


def seconds_of(manifest: dict) -> int | str:
    """Seconds of training; a run that was killed does not know them."""
    return round(manifest["seconds"]) or "-"


def pace(manifest: dict) -> int | str:
    """Steps a second, of all that were taken in these seconds; a dash where either is not known.

    A run that is not finished has gone on after its last measure, by how much `taken` alone says.
    """
    finished = manifest["status"] == "finished"
    steps = manifest.get("taken", reached(manifest) if finished else None)
    if not steps or not manifest["seconds"]:
        return "-"
    return round((steps - manifest.get("untimed", 0)) / manifest["seconds"])


def ended(step: int, manifest: dict | None, least: pd.Series | None = None) -> str:
    """The step at which training that ends once it is fitted did end, and if it was not by then.

    `least` has the smallest share of all members at every measure. Without it a finished run that
    ended before its recipe did was fitted, and of one that took every step its manifest says it.
    """
    recipe = recipe_of(manifest) if manifest else {}
    count = recipe.get("stop_measures", STOP_MEASURES)
    fitted: bool | None = None
    if least is not None:
        last = least.sort_index().iloc[-count:]
        fitted = len(last) == count and bool((last >= recipe.get("stop_share", SHARE)).all())
    elif manifest and manifest["status"] != "finished":
        fitted = False
    elif manifest and step < recipe["steps"]:
        fitted = True
    elif manifest and "fitted" in manifest:
        fitted = manifest["fitted"] >= count
    said = {True: "", False: ", not fitted", None: ", not known if fitted"}
    return f"{step:,}{said[fitted]}"


def not_trained(command: str, missing: Iterable[str] | None = None) -> str:
    """What was not trained, by default nothing was, and the command that trains it."""
    if missing is None:
        return f"Not trained yet: {command}."
    lines = [f"- {one}" for one in missing]
    return "\n".join([f"Not trained yet ({command}):", "", *lines]) if lines else ""
