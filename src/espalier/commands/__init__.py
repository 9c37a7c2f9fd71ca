"""The commands: thin functions that call the library and show what it returns."""

from espalier.commands import decomposition, learnability, learning, programs, syntax, training
from espalier.commands.demo import demo_command
from espalier.commands.doctor import doctor_command
from espalier.commands.explore import explore_command
from espalier.commands.reproduce import reproduce_command
from espalier.commands.scan import scan_command
from espalier.commands.terminal import (
    INTERRUPTED,
    ended_as_by_ctrl_c,
    hearing_ctrl_c,
    open_streams,
    warning_in_one_line,
)
from espalier.commands.usage import NamedArguments
from espalier.commands.words import misread, read_words

__all__ = [
    "INTERRUPTED",
    "NamedArguments",
    "decomposition",
    "demo_command",
    "doctor_command",
    "ended_as_by_ctrl_c",
    "explore_command",
    "hearing_ctrl_c",
    "learnability",
    "learning",
    "misread",
    "open_streams",
    "programs",
    "read_words",
    "reproduce_command",
    "scan_command",
    "syntax",
    "training",
    "warning_in_one_line",
]
