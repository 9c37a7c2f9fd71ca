"""The command line. Commands live in `commands/` and import torch only when they need it."""

from __future__ import annotations

import errno
import os
import sys
from typing import NoReturn

from cyclopts import App, CycloptsError, Parameter
from cyclopts.completion.detect import ShellDetectionError

from espalier.commands import (
    INTERRUPTED,
    NamedArguments,
    decomposition,
    demo_command,
    doctor_command,
    ended_as_by_ctrl_c,
    explore_command,
    hearing_ctrl_c,
    learnability,
    learning,
    misread,
    open_streams,
    programs,
    read_words,
    reproduce_command,
    scan_command,
    syntax,
    training,
    warning_in_one_line,
)
from espalier.errors import EspalierError, harmless
from espalier.version import __version__

# What a full or broken disk says, and, the last, a stream that was opened for reading.
_OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EBADF)
LONGEST_NAME = 200  # characters of a file's name that are shown

app = App(
    name="espalier",
    help="How sequence models compose meaning: programs into Transformers, networks into parts.",
    version=__version__,
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(converter=read_words),
)
app.help_formatter = NamedArguments(app)

app.command(programs.programs_command, name="programs")
app.command(programs.run_command, name="run")
app.command(programs.trace_command, name="trace")
app.command(programs.compile_command, name="compile")
app.command(programs.verify_command, name="verify")
learnability.register(app)
app.command(scan_command, name="scan")
app.command(demo_command, name="demo")
app.command(doctor_command, name="doctor")
app.command(explore_command, name="explore")
training.register(app)
learning.register(app)
app.command(reproduce_command, name="reproduce")
decomposition.register(app)
syntax.register(app)
app.register_install_completion_command(help="Let the shell (bash, zsh or fish) complete commands.")


def main(words: list[str] | None = None) -> None:
    """Run the command line; an error of espalier's is one line on stderr and exit status 2.

    `words` are the shell's by default.
    """
    open_streams()
    with ended_as_by_ctrl_c():
        _run(words)


def _run(words: list[str] | None) -> None:
    """Run a command; what makes it fail is reported in one line."""
    try:
        with hearing_ctrl_c(), warning_in_one_line():
            app(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        _end(misread(error))
    except (EspalierError, ShellDetectionError) as error:
        where = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
        _end(f"{error}{where}")
    except KeyboardInterrupt as stopped:  # the error of a run says where it was saved
        _end(str(stopped) or "interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader went away (`espalier trace ... | head`): nothing more can be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (MemoryError, RuntimeError) as error:
        if not _wants_memory(error):
            raise
        _end(
            f"there is not enough memory for what was asked for "
            f"({str(error).splitlines()[0] if str(error) else 'MemoryError'}); ask for something "
            f"smaller"
        )
    except OSError as error:  # such as a name that is too long, wherever it is first used
        if error.filename is None and error.errno not in _OUTPUT:
            raise
        name = str(error.filename or "the output")
        shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
        _end(f"cannot use {shown}: {error.strerror}")


def _end(why: str, status: int = 2) -> NoReturn:
    """Say on stderr why the command ends; control characters quoted from files are escaped."""
    sys.stderr.write(f"espalier: {harmless(why)}\n")
    sys.exit(status)


def _wants_memory(error: Exception) -> bool:
    """Whether memory ran out; torch says so in the text of an error, on CPUs and GPUs."""
    words = ("not enough memory", "can't allocate memory", "out of memory")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


if __name__ == "__main__":
    main()
