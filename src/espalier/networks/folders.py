"""Folders of `transformers` models as networks: weights, configuration and tokenizer.

Nothing is downloaded and no code in a folder is run.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

from espalier.errors import ConfigError, FileError
from espalier.networks.network import Network
from espalier.networks.reading import network

CONFIG = "config.json"


def is_pretrained(path: str | os.PathLike[str]) -> bool:
    """Whether it is a folder as `save_pretrained` of transformers writes them.

    >>> is_pretrained("runs/nowhere")
    False
    """
    return (Path(path) / CONFIG).is_file()


def load_pretrained(path: str | os.PathLike[str], *, fresh: int | None = None) -> Network:
    """The model of a folder with its tokenizer, in float32; `fresh` draws new weights by that seed.

    Without a tokenizer in the folder the network reads numbers.
    """
    transformers, folder = _transformers(path), str(path)
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        kind = getattr(transformers, (config.architectures or ["?"])[0])
        if fresh is None:
            given: dict[str, Any] = {"local_files_only": True, "dtype": torch.float32}
            model = kind.from_pretrained(folder, **given)
        else:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(fresh)
                model = kind(config).float()
    except Exception as error:  # the library's own, and those of what it calls
        raise FileError(f"{path} is no model that transformers loads: {error}") from error
    return network(model.eval(), tokenizer=_tokenizer(transformers, folder))


def _tokenizer(transformers: Any, folder: str) -> Any:
    files = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "*.model")
    if not any(True for name in files for _ in Path(folder).glob(name)):
        return None
    try:
        return transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # the library's own, and those of what it calls
        raise FileError(f"the tokenizer in {folder} cannot be loaded: {error}") from error


def _transformers(path: str | os.PathLike[str]) -> Any:
    try:
        import transformers
    except ImportError as error:
        raise ConfigError(
            f"{path} is a model of transformers, which is not installed: "
            f"pip install 'espalier[transformers]'"
        ) from error
    return transformers
