"""Classes of transformers for a textbook Transformer; importing this file registers them.

Blocks are held once for each kind and used as `plan` says, as ALBERT shares its layers. A folder
holds data alone: it is opened by these classes, never by code in it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForTokenClassification,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizer,
)
from transformers.modeling_outputs import TokenClassifierOutput

from espalier.language import TextFormat
from espalier.nets import PlainBlock, PlainConfig, PlainTransformer


class EspalierConfig(PretrainedConfig):  # type: ignore[misc]
    """Sizes and labels of a compiled program."""

    model_type = "espalier"

    def __init__(self, **settings: Any) -> None:
        for field in fields(PlainConfig):
            setattr(self, field.name, settings.pop(field.name, None))
        super().__init__(**settings)

    @property
    def plain(self) -> PlainConfig:
        """The same as the textbook Transformer has it."""
        values = {field.name: getattr(self, field.name) for field in fields(PlainConfig)}
        lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
        return PlainConfig(**values | lists)


class EspalierModel(PreTrainedModel):  # type: ignore[misc]
    """A compiled program: logits of its output variable at every token, the beginning included."""

    config_class = EspalierConfig
    base_model_prefix = "espalier"
    main_input_name = "input_ids"

    def __init__(self, config: EspalierConfig) -> None:
        super().__init__(config)
        plain = config.plain
        self.sizes = plain
        self.embed = nn.Embedding(plain.d_vocab, plain.d_model)
        self.pos_embed = nn.Embedding(plain.n_ctx, plain.d_model)
        self.kinds = nn.ModuleList(
            PlainBlock(plain) for _ in range(max(plain.plan, default=-1) + 1)
        )
        self.unembed = nn.Linear(plain.d_model, plain.d_vocab_out, bias=False)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Weights are compiled, not drawn."""

    def get_input_embeddings(self) -> nn.Module:
        """The token embeddings."""
        return self.embed

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        output_hidden_states: bool | None = None,
        **unused: Any,
    ) -> TokenClassifierOutput:
        """Logits and, where asked for, the stream before the first block and after each."""
        if attention_mask is not None:
            input_ids = input_ids.masked_fill(attention_mask == 0, self.sizes.pad_id)
        places = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.embed(input_ids) + self.pos_embed(places)
        states = [x]
        for kind in self.sizes.plan:
            x = self.kinds[kind](x)
            states.append(x)
        shown = tuple(states) if output_hidden_states else None
        return TokenClassifierOutput(logits=self.unembed(x), hidden_states=shown)


class EspalierTokenizer(PreTrainedTokenizer):  # type: ignore[misc]
    """Reads a text as the program says, or else names of tokens; the beginning comes first."""

    model_input_names = ["input_ids", "attention_mask"]  # noqa: RUF012  (as its base has it)

    def __init__(
        self, tokens: list[str] | None = None, text: dict[str, Any] | None = None, **settings: Any
    ) -> None:
        self.names = list(tokens or ["<pad>", "<bos>"])
        self.format = None if text is None else TextFormat.from_record(text)
        marks = {"pad_token": self.names[-2], "bos_token": self.names[-1]}
        settings |= {"special_tokens_pattern": "bos"}
        super().__init__(tokens=tokens, text=text, **marks | settings)

    @property
    def vocab_size(self) -> int:
        """How many tokens there are."""
        return len(self.names)

    def get_vocab(self) -> dict[str, int]:
        """Every token's number."""
        return {name: number for number, name in enumerate(self.names)}

    def tokenize(self, text: str, **settings: Any) -> list[str]:
        """The names of a text's tokens."""
        if self.format is None:
            return text.split()
        return [self.names[token] for token in self.format.encode(text)]

    def answer(self, outputs: Tensor | list[int]) -> str:
        """The answer that the outputs of all positions give, that of the beginning included."""
        found = outputs.tolist() if isinstance(outputs, Tensor) else list(outputs)
        if self.format is None:
            return " ".join(map(str, found[1:]))
        return self.format.decode(found[1:])

    def save_vocabulary(
        self, save_directory: str, filename_prefix: str | None = None
    ) -> tuple[str]:
        """Nothing: the tokens are in the tokenizer's configuration."""
        return ()  # type: ignore[return-value]

    def _convert_token_to_id(self, token: str) -> int:
        return self.names.index(token)

    def _convert_id_to_token(self, index: int) -> str:
        return self.names[index]


def pretrained(plain: PlainTransformer, **labels: Any) -> EspalierModel:
    """The same network as a model of transformers."""
    sizes = plain.config
    config = EspalierConfig(**{f.name: getattr(sizes, f.name) for f in fields(sizes)}, **labels)
    made = EspalierModel(config)
    made.to(plain.embed.weight.dtype)
    first = {kind: place for place, kind in reversed(list(enumerate(sizes.plan)))}
    with torch.no_grad():
        for name in ("embed", "pos_embed", "unembed"):
            getattr(made, name).weight.copy_(getattr(plain, name).weight)
        for kind, place in first.items():
            made.kinds[kind].load_state_dict(plain.blocks[place].state_dict())
    made.eval()
    return made


AutoConfig.register("espalier", EspalierConfig, exist_ok=True)
AutoModel.register(EspalierConfig, EspalierModel, exist_ok=True)
AutoModelForTokenClassification.register(EspalierConfig, EspalierModel, exist_ok=True)
AutoTokenizer.register(EspalierConfig, tokenizer_class=EspalierTokenizer, exist_ok=True)
