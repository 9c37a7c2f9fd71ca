"""A folder of small runs: one still running, each architecture, one damaged, claims."""

import math

import torch

import espalier as es
from espalier.nets.lstm import save_language_model
from espalier.runs import RunFolder, describe_run

ARCHITECTURES = {"k4": "lstm", "sweep/gru": "gru", "sweep/transformer": "transformer"}


def make_runs(root):
    for name, architecture in ARCHITECTURES.items():
        make_run(root / name, "finished", architecture)
    make_run(root / "sweep/k8", "running", "lstm")
    RunFolder.create(root / "damaged")
    (root / "damaged" / "manifest.json").write_text('{"kind": "scaffold", "sta')
    make_claims(root / "claims")
    return root


def make_run(path, status, architecture):
    folder = RunFolder.create(path)
    sizes = {"vocabulary_size": 12, "hidden": 8, "layers": 2, "architecture": architecture}
    if architecture == "transformer":
        sizes["heads"] = 2
    config = {"network": {"hidden": 8, "architecture": architecture}, "rate": 0.01}
    about = describe_run("scaffold", config, data={}, device=torch.device("cpu"))
    folder.write_manifest({**about, "status": status, "epochs": 10})
    folder.write_rows(list(rows(range(1, 9))))
    for epoch in (1, 2, 5):
        model = es.language_model(**sizes, seed=epoch)
        save_language_model(model, path / f"epoch-{epoch}.safetensors")


def rows(epochs):
    for epoch in epochs:
        for seed in range(3):
            loss = 2 * math.exp(-epoch / 4) + 0.1 * seed
            yield {"step": epoch * 10, "epoch": float(epoch), "member": str(seed), "loss": loss}


def make_claims(path):
    """A finished reproduction of two claims, one of which holds."""
    folder = RunFolder.create(path)
    about = describe_run("reproduction", {}, data={}, device=torch.device("cpu"))
    more = {"name": "scaffold-claims", "status": "finished", "scale": "smoke", "seeds": [0, 1]}
    folder.write_manifest({**about, **more})
    same = {"quantity": "a difference", "seeds": 2, "side": "above", "bound": 0.0}
    claims = (("1", "familiar is earlier", 0.5), ("2", "but fails", -0.5))
    folder.write_rows(
        [
            {"claim": key, "statement": text, "mean": mean, "holds": mean > 0, "length": length}
            | {"low": mean - 0.1, "high": mean + 0.1, **same}
            for key, text, mean in claims
            for length in (2, 4)
        ],
        "rows",
    )
    for picture in ("figure.png", "figure.svg"):
        (path / picture).write_bytes(b"drawn")
