"""How the help of a command says what it takes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from cyclopts import App


@dataclass(frozen=True)
class NamedArguments:
    """The help of cyclopts, whose usage lines say [INPUTS...] where its own say [ARGS...]."""

    app: App

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        """Print one box of the help."""
        from cyclopts.help import DefaultFormatter

        DefaultFormatter()(console, options, panel)

    def render_usage(self, console: Any, options: Any, usage: Any) -> None:
        """Print the usage line."""
        from cyclopts.help import DefaultFormatter

        text, command = str(usage), self.app
        for word in text.split()[1:]:
            if word in command:
                command = command[word]
        if command.default_command is not None and "[ARGS" in text:
            # Of no command more than the last argument can be left out.
            names = inspect.signature(command.default_command).parameters.values()
            last = [one.name for one in names if one.kind is not one.KEYWORD_ONLY][-1]
            text = text.replace("[ARGS", f"[{last.upper()}")
        DefaultFormatter().render_usage(console, options, text)
