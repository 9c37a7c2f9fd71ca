"""A folder of small runs, one of which goes on."""

import math

import torch

import espalier as es
from espalier.nets.lstm import save_language_model
from espalier.runs import RunFolder, describe_run


def make_runs(root):
    for name, status in (("k4", "finished"), ("sweep/k8", "running")):
        folder = RunFolder.create(root / name)
        config = {"hidden": 8, "rate": 0.01}
        about = describe_run("scaffold", config, data={}, device=torch.device("cpu"))
        folder.write_manifest({**about, "status": status, "epochs": 10})
        folder.write_rows(list(rows(range(1, 9))))
        for epoch in (1, 2, 5):
            model = es.language_model(vocabulary_size=12, hidden=8, seed=epoch)
            save_language_model(model, root / name / f"epoch-{epoch}.safetensors")
    return root


def rows(epochs):
    for epoch in epochs:
        for seed in range(3):
            loss = 2 * math.exp(-epoch / 4) + 0.1 * seed
            yield {"step": epoch * 10, "epoch": float(epoch), "member": str(seed), "loss": loss}
