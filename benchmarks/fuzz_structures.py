"""Whole files with odd content, which changed bytes, refused by checksums, do not reach."""

from __future__ import annotations

import io
import json
import random
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.torch import load as load_tensors

import espalier as es
from benchmarks.fuzz_targets import Target
from espalier.compiler import CompiledModel
from espalier.data import stretches
from espalier.learnability import read_traces
from espalier.nets import CHECKSUMS, write_safetensors

ODD: list[Any] = [
    *(None, True, 0, -1, 3, 2**31, 2**63, 10**30, -0.5, 1e300, float("nan"), float("-inf")),
    *("", "x", "\0", "\ud800", "é\u2028\n", "x" * 3_000, "0", "nan", "none"),
    *([], [[]], [None], [-1], ["x"], [1e9], {}, {"": 1}, {"x": {"x": {}}}),
]
DTYPES = (torch.float16, torch.float64, torch.int64, torch.bool, torch.complex64, torch.bfloat16)
TYPES = (pa.string(), pa.float64(), pa.int8(), pa.bool_(), pa.binary(), pa.list_(pa.int64()))
SETTINGS = (
    *("nan", "-inf", "1e400", "true", "''", "'x'", "[]", "[[]]", "{}", "{a=1}", "[1,'x']", "-1"),
    *("0", "1979-05-27", "07:32:00", "9" * 400, "9" * 5_000, "'" + "x" * 300 + "'", "[1, 1]"),
)
COLUMN = ("", "_", "0", "-1", "1-2", "2-1", "1.1", "0.1", "9" * 30, "x", "²", "a=b|a=b", "1:x|2:y")


def odd_record(found: Any, dice: random.Random) -> Any:
    """A value of JSON with something in it replaced, lost, or given another name."""
    if not isinstance(found, dict | list) or not found or dice.random() < 0.05:
        return dice.choice(ODD)
    keys = list(found) if isinstance(found, dict) else list(range(len(found)))
    key = dice.choice(keys)
    match dice.choice(["deeper"] * 6 + ["lose", "name", "twice"]):
        case "lose":
            del found[key]
        case "twice":
            found[dice.choice(keys)] = found[key]
        case "name" if isinstance(found, dict):
            found[dice.choice(["", "x", "0", "rules"])] = found.pop(key)
        case _:
            found[key] = odd_record(found[key], dice)
    return found


def odd_tensors(good: bytes, dice: random.Random) -> bytes:
    """Tensors of other types, shapes, names and numbers, or other metadata, and right checksums."""
    tensors = load_tensors(good)
    size = int.from_bytes(good[:8], "little")
    metadata = json.loads(good[8 : 8 + size]).get("__metadata__", {})
    if dice.random() < 0.15:
        return _odd_header(good, size, dice)
    for _ in range(dice.choice([1, 1, 2, 3])):
        name = dice.choice(list(tensors))
        if dice.random() < 0.5:
            key = dice.choice([one for one in metadata if one != CHECKSUMS] or ["shape"])
            try:
                metadata[key] = json.dumps(odd_record(json.loads(metadata[key]), dice))
            except (ValueError, KeyError):
                metadata[key] = str(dice.choice(ODD))
            continue
        tensors = _odd_tensor(tensors, name, dice)
        if not tensors:
            break
    metadata = {key: text.encode("utf-8", "replace").decode() for key, text in metadata.items()}
    metadata.pop(CHECKSUMS, None)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "odd.safetensors")
        write_safetensors(file, {n: t.clone() for n, t in tensors.items()}, metadata)
        return file.read_bytes()


def _odd_tensor(
    tensors: dict[str, torch.Tensor], name: str, dice: random.Random
) -> dict[str, torch.Tensor]:
    tensor = tensors[name]
    match dice.choice(["type", "shape", "empty", "number", "lose", "name", "cut"]):
        case "type":
            return tensors | {name: tensor.to(dice.choice(DTYPES))}
        case "shape":
            return tensors | {name: tensor.reshape(dice.choice([(-1,), (1, -1), (-1, 1, 1)]))}
        case "empty":
            return tensors | {name: tensor[:0] if tensor.dim() else tensor.new_zeros(0)}
        case "cut":
            return tensors | {name: tensor[:-1] if tensor.dim() else tensor.new_zeros(2)}
        case "number" if tensor.numel():
            changed = tensor.clone().reshape(-1)
            number = dice.choice([float("nan"), float("inf"), 1e30, 0.0, -1.0])
            changed[dice.randrange(len(changed))] = number if changed.is_floating_point() else -7
            return tensors | {name: changed.reshape(tensor.shape)}
        case "lose":
            return {one: held for one, held in tensors.items() if one != name}
        case _:
            other = dice.choice([*tensors, "encoder.weight", "", "module." + name])
            return {other if one == name else one: held for one, held in tensors.items()}


def _odd_header(good: bytes, size: int, dice: random.Random) -> bytes:
    """A header that says other places, types and shapes than the numbers after it have."""
    header = json.loads(good[8 : 8 + size])
    name = dice.choice([one for one in header if one != "__metadata__"])
    about = header[name]
    match dice.choice(["offsets", "shape", "dtype", "any"]):
        case "offsets":
            first, last = about["data_offsets"]
            about["data_offsets"] = dice.choice([[last, first], [0, last], [first, 2**62], [-1, 0]])
        case "shape":
            about["shape"] = dice.choice([[2**40, 2**40], [-1], [], [0], [2**62], [1] * 100])
        case "dtype":
            about["dtype"] = dice.choice(["F64", "F8_E4M3", "BOOL", "I64", "X", ""])
        case _:
            header = odd_record(header, dice)
    text = json.dumps(header).encode("utf-8", "replace")
    if dice.random() < 0.2:  # a name that is there twice
        text = text[:-1] + b", " + json.dumps({name: about}).encode()[1:]
    return len(text).to_bytes(8, "little") + text + good[8 + size :]


def odd_table(good: bytes, dice: random.Random) -> bytes:
    """Columns of other types, lost, doubled or nested, rows of nulls, and other metadata."""
    table = pq.read_table(io.BytesIO(good))
    for _ in range(dice.choice([1, 1, 2, 3])):
        if not table.num_columns:
            break
        place = dice.randrange(table.num_columns)
        name, column = table.column_names[place], table.column(place)
        match dice.choice(["type", "lose", "name", "null", "nested", "rows", "about", "about"]):
            case "type":
                try:
                    changed = column.cast(dice.choice(TYPES), safe=False)
                except (pa.ArrowException, NotImplementedError):
                    changed = pa.array([dice.choice(["x", "", None])] * len(column), pa.string())
                table = table.set_column(place, name, changed)
            case "lose":
                table = table.remove_column(place)
            case "name":
                names = list(table.column_names)
                names[place] = dice.choice([*names, "", "x"])
                table = table.rename_columns(names)
            case "null":
                table = table.set_column(place, name, pa.nulls(len(column), column.type))
            case "nested":
                table = table.set_column(place, name, pa.array([{"x": [1]}] * len(column)))
            case "rows":
                table = table.slice(0, dice.choice([0, 1]))
            case _:
                table = table.replace_schema_metadata(_odd_about(table, dice))
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=dice.choice([1, 1_000]))
    return out.getvalue()


def _odd_about(table: pa.Table, dice: random.Random) -> dict[bytes, bytes]:
    about = dict(table.schema.metadata or {})
    key = dice.choice([*about, b"espalier"])
    try:
        text = json.dumps(odd_record(json.loads(about[key]), dice))
    except (ValueError, KeyError):
        text = str(dice.choice(ODD))
    return about | {key: text.encode("utf-8", "replace")}


def odd_settings(good: bytes, dice: random.Random) -> bytes:
    """Settings with values of other kinds."""
    lines = good.decode().splitlines()
    for _ in range(dice.choice([1, 1, 2])):
        place = dice.choice([n for n, line in enumerate(lines) if "=" in line])
        name = lines[place].partition("=")[0]
        value = dice.choice(SETTINGS)
        lines[place] = f"{name}= {dice.choice([value, f'[{value}]', f'[{value}, 2]'])}"
    return "\n".join(lines).encode()


def odd_trees(good: bytes, dice: random.Random) -> bytes:
    """Tokens with other numbers, heads, tags and features; some lines doubled or elsewhere."""
    lines = good.decode("utf-8", "ignore").split("\n")
    for _ in range(dice.choice([1, 2, 3, 6])):
        place = dice.randrange(len(lines))
        columns = lines[place].split("\t")
        if len(columns) == 10 and dice.random() < 0.8:
            which = dice.choice([0, 0, 1, 3, 5, 6, 6, 6, 7, 8])
            columns[which] = dice.choice([*COLUMN, *map(str, range(6))])
            lines[place] = "\t".join(columns)
        elif dice.random() < 0.5:
            lines.insert(dice.randrange(len(lines)), lines[place])
        else:
            del lines[place]
    return "\n".join(lines or [""]).encode()


def odd_text(good: bytes, dice: random.Random) -> bytes:
    """The same text in another encoding, with other ends of lines, or with odd words."""
    text = good.decode("utf-8", "ignore")
    match dice.choice(["encoding", "ends", "words", "long", "empty"]):
        case "encoding":
            return text.encode(dice.choice(["utf-16", "utf-32", "latin-1", "utf-7"]), "replace")
        case "ends":
            return text.replace("\n", dice.choice(["\r", "\r\n", "\0", "\u2028", "\n\n"])).encode()
        case "words":
            odd = dice.choice(["<unk>", "<eos>", "\0", "\ufeff", "\u200b", "<UNK>", "x" * 9_999])
            words = text.split(" ")
            words[dice.randrange(len(words))] = odd
            return " ".join(words).encode()
        case "long":
            return (dice.choice(["a ", "a", " ", "é"]) * 300_000).encode()
        case _:
            return dice.choice([b"", b"\n" * 100_000, b"\xef\xbb\xbf", b" \n" * 20, b"\x00" * 99])


def odd_arrays(good: bytes, dice: random.Random) -> bytes:
    """Arrays of a prepared treebank with other numbers, types, lengths and names."""
    with np.load(io.BytesIO(good)) as held:
        arrays = {name: held[name] for name in held.files}
    for _ in range(dice.choice([1, 1, 2])):
        name = dice.choice(list(arrays))
        array = arrays[name]
        match dice.choice(["number", "type", "cut", "lose", "shape"]):
            case "number" if array.size:
                array = array.copy()
                number = np.array(dice.choice([0, -1, 99, 10**6])).astype(array.dtype)
                array.reshape(-1)[dice.randrange(array.size)] = number
            case "type":
                array = array.astype(dice.choice(["f8", "u1", "i1", "U3", "?"]))
            case "cut":
                array = array[: dice.randrange(array.size + 1)]
            case "shape":
                array = array.reshape(dice.choice([(-1, 1), (1, -1)]))
            case _:
                del arrays[name]
                break
        arrays[name] = array
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def odd_targets(known: Mapping[str, Target]) -> dict[str, Target]:
    """The formats that have a structure, each read and then used."""
    made = {
        "safetensors": (odd_tensors, _use_model),
        "parquet": (odd_table, partial(_use_traces, known["parquet"].read)),
        "toml": (odd_settings, known["toml"].read),
        "conllu": (odd_trees, _use_sentences),
        "text": (odd_text, _use_text),
        "npz": (odd_arrays, _use_treebank),
    }
    return {
        f"odd-{name}": Target(f"odd-{name}", known[name].good, read, change)
        for name, (change, read) in made.items()
    }


def _use_model(file: Path) -> None:
    model = es.load(file)
    if isinstance(model, CompiledModel):
        es.verify(model.program, [[1, 0, 1]], max_layers=3)
        model.run([1, 0, 1], max_layers=3)
    else:
        es.decompose(model, [2, 3], focus=[0])


def _use_traces(read: Callable[[Path], Any], file: Path) -> None:
    try:
        traces = read_traces(file)
        traces.vectors()
        str(traces)
    except es.EspalierError:
        read(file)


def _use_sentences(file: Path) -> None:
    stretches([file], pairs=50)
    _use_treebank(file)


def _use_text(file: Path) -> None:
    stretches([file], format="text", pairs=50)
    es.text_corpus(file)


def _use_treebank(file: Path) -> None:
    bank = es.treebank(file)
    str(bank)
    bank.to_frame()
    list(bank.sample(2))
