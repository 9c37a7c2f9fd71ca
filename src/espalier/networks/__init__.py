"""Networks of any origin as plain data: LSTM, GRU, Transformer; and text as tokens.

`network` reads a module into a `Network` of `blocks`; `plain` runs it. Decompositions and other
attributions are in `espalier.decomposition`.
"""

from espalier.networks import plain
from espalier.networks.blocks import (
    ACTIVATIONS,
    Activation,
    ActivationName,
    Attention,
    Body,
    FeedForward,
    GRULayer,
    HeadPart,
    Linear,
    LSTMDirection,
    Norm,
    Recurrent,
    Sublayer,
    Transformer,
)
from espalier.networks.folders import is_pretrained, load_pretrained
from espalier.networks.members import member_body
from espalier.networks.network import Network
from espalier.networks.reading import network
from espalier.networks.tokens import Tokens, WordTokenizer, check_text, read_focus

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "ActivationName",
    "Attention",
    "Body",
    "FeedForward",
    "GRULayer",
    "HeadPart",
    "LSTMDirection",
    "Linear",
    "Network",
    "Norm",
    "Recurrent",
    "Sublayer",
    "Tokens",
    "Transformer",
    "WordTokenizer",
    "check_text",
    "is_pretrained",
    "load_pretrained",
    "member_body",
    "network",
    "plain",
    "read_focus",
]
