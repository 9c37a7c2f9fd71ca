"""Files that something happened to: refused with an error of ours, or read as what they were.

Damage is drawn from a seed. What it hits at random (bytes, truncation) must be noticed whatever it
is. What is changed with care and signed again may be another file of its kind; then it must load.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings
from safetensors.torch import save_file

import espalier as es
from espalier import zoo
from espalier.nets import CHECKSUMS, read_safetensors, write_safetensors
from espalier.nets.lstm import load_language_model, members, save_language_model

CASES = 3 * min(settings().max_examples, 1000)  # ten times as many under the deep profile
DEEP = "[" * 50_000
NASTY: list[Any] = [
    *(None, True, -1, 0, 1, 7, 10**9, 10**400, -(10**30), 0.5, -0.0, 1e308, float("nan")),
    *(float("inf"), "", "x", "\x00", "é\u2028", [], {}, [[]], [None], {"": None}, [1, 2, 3]),
]

Load = Callable[[Path], torch.nn.Module]


def compiled(path: Path) -> Load:
    es.compile_program(zoo.load("parity-sum-modulo").program).save(path)
    return es.load


def causal(path: Path) -> Load:
    es.compile_program(zoo.load("parity-scratchpad").program).save(path)
    return es.load


def language_model(path: Path) -> Load:
    words = ["<unk>", "<eos>", "the", "cat", "sat", 'a "quoted" one', "ünï"]
    save_language_model(
        es.language_model(vocabulary_size=7, hidden=3, words=words, embedding=2), path
    )
    return es.load


def english(path: Path) -> Load:
    """As the model that comes with the package: tied, in float16."""
    lm = es.language_model(hidden=3, vocabulary_size=6, layers=2, tied=True)
    save_language_model(lm, path, dtype=torch.float16)
    return es.load


def ensemble(path: Path) -> Load:
    models = [es.language_model(hidden=3, vocabulary_size=6, seed=seed) for seed in (0, 1)]
    stacked = members.stack(models)
    shape = json.dumps(models[0].shape.to_dict())
    record = {"shape": shape, "members": '["a", "b"]', "dropout": "[0.0, 0.5]"}
    write_safetensors(path, stacked, record)
    return lambda file: load_language_model(file, member="b")


KINDS = [compiled, causal, language_model, english, ensemble]


def flip(data: bytearray, dice: random.Random, below: int) -> None:
    for _ in range(dice.choice([1, 1, 1, 2, 5])):
        place = dice.randrange(below)
        data[place] ^= 1 << dice.randrange(8)


def damage(data: bytes, dice: random.Random) -> bytes:
    """Some bytes changed, lost, added, or in each other's place."""
    found = bytearray(data)
    header = 8 + struct.unpack("<Q", data[:8])[0]
    first, length = dice.randrange(len(data)), dice.randrange(1, 64)
    match dice.choice(["header", "header", "header", "bytes", "cut", "lose", "add", "noise"]):
        case "header":
            flip(found, dice, header)
        case "bytes":
            flip(found, dice, len(data))
        case "cut":
            del found[first:]
        case "lose":
            del found[first : first + length]
        case "add":
            found[first:first] = dice.randbytes(length)
        case _:
            found[first : first + length] = dice.randbytes(length)
    return bytes(found)


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    ours, theirs = one.state_dict(), other.state_dict()
    labels = ("program", "compiled_digest", "shape", "vocabulary")
    return (
        all(getattr(one, name, None) == getattr(other, name, None) for name in labels)
        and ours.keys() == theirs.keys()
        and all(torch.equal(ours[name], theirs[name]) for name in ours)
    )


@pytest.mark.parametrize("make", KINDS)
def test_random_damage_is_refused_or_harmless(make: Callable[[Path], Load], tmp_path) -> None:
    whole, broken = tmp_path / "whole.safetensors", tmp_path / "broken.safetensors"
    load = make(whole)
    data, good = whole.read_bytes(), load(whole)
    refused = harmless = 0
    for case in range(CASES):
        spoiled = damage(data, random.Random(case))
        broken.write_bytes(spoiled)
        try:
            found = load(broken)
        except es.EspalierError as error:
            refused += "broken" in str(error)
        else:
            assert same(found, good), case
            harmless += 1
    assert refused + harmless == CASES  # every refusal names the file
    assert refused > 0.9 * CASES


def spoil(node: Any, dice: random.Random) -> Any:
    """A tree of JSON with one of its parts changed."""
    if isinstance(node, dict) and node and dice.random() < 0.9:
        key = dice.choice(sorted(node))
        if dice.random() < 0.15:
            return {name: part for name, part in node.items() if name != key}
        return node | {key: spoil(node[key], dice)}
    if isinstance(node, list) and node and dice.random() < 0.9:
        place = dice.randrange(len(node))
        if dice.random() < 0.1:
            return [*node, node[place]]
        return [*node[:place], spoil(node[place], dice), *node[place + 1 :]]
    if isinstance(node, int) and dice.random() < 0.4:
        return node + dice.choice([-1, 1, 2**31, 2**63])
    return dice.choice(NASTY)


def spoil_text(text: str, dice: random.Random) -> str:
    if dice.random() < 0.2 or not text.startswith(("[", "{")):
        nasty = json.dumps(dice.choice(NASTY))
        return dice.choice([DEEP, "", "{", "2", text[:-1], text * 2, nasty])
    return json.dumps(spoil(json.loads(text), dice))


def spoil_tensor(tensor: torch.Tensor, dice: random.Random) -> torch.Tensor | None:
    odd = tensor.clone()
    if odd.numel():
        place = dice.randrange(odd.numel())
        big = dice.choice([torch.nan, torch.inf, -torch.inf, 1e30])
        odd.view(-1)[place] = big if odd.is_floating_point() else dice.choice([-1, 10**12])
    types = [torch.float64, torch.float16, torch.int64, torch.bool, torch.uint8, torch.complex64]
    return dice.choice(
        [
            None,
            odd,
            odd,
            tensor[:-1] if tensor.dim() else tensor,
            tensor[None],
            tensor.reshape(-1),
            torch.cat([tensor, tensor]),
            tensor.to(dice.choice(types)),
            torch.empty(0),
            torch.zeros(()),
        ]
    )


@pytest.mark.parametrize("sign", [True, False])
@pytest.mark.parametrize("make", KINDS)
def test_careful_damage_never_ends_in_an_error_of_others(
    make: Callable[[Path], Load], sign: bool, tmp_path
) -> None:
    whole, broken = tmp_path / "whole.safetensors", tmp_path / "broken.safetensors"
    load = make(whole)
    tensors, metadata = read_safetensors(whole)
    good, named = load(whole), True
    for case in range(CASES // 3):
        dice = random.Random(case)
        held, said = dict(tensors), dict(metadata)
        if dice.random() < 0.5:
            key = dice.choice(sorted(said))
            said[key] = spoil_text(said[key], dice)
        else:
            name = dice.choice(sorted(held))
            held[name] = spoil_tensor(held[name], dice)
            if dice.random() < 0.1:
                held["another"] = torch.zeros(2)
        held = {name: tensor.contiguous() for name, tensor in held.items() if tensor is not None}
        if sign:
            said.pop(CHECKSUMS)
            write_safetensors(broken, held, said)
        else:
            save_file(held, broken, said)
        try:
            found = load(broken)
        except es.EspalierError as error:
            named &= "broken" in str(error)
        else:
            assert sign or same(found, good), case
    assert named
