import os
import signal
import subprocess
import sys
import warnings

import pytest

from espalier.commands import (
    INTERRUPTED,
    ended_as_by_ctrl_c,
    hearing_ctrl_c,
    warning_in_one_line,
)
from espalier.errors import FileError


def taken_for(error):
    """What a library does that hears of Ctrl-C and raises an error of its own."""
    with hearing_ctrl_c():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise error from None


def test_ctrl_c_that_a_library_took_for_an_error_of_its_own_is_ctrl_c():
    with pytest.raises(KeyboardInterrupt):
        taken_for(AttributeError("module 'numpy' has no attribute 'matrix'"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_errors_stay_what_they_are():
    with pytest.raises(AttributeError), hearing_ctrl_c():
        raise AttributeError
    with pytest.raises(FileError, match="told in words"):
        taken_for(FileError("told in words"))


def killed_and_ended():
    """A command that ends as at Ctrl-C, of a kill."""
    with ended_as_by_ctrl_c():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL  # a second one kills
            raise SystemExit(INTERRUPTED) from None


@pytest.mark.parametrize("hears", [signal.default_int_handler, signal.SIG_IGN])
def test_kill_is_heard_as_ctrl_c_even_where_that_is_ignored(hears):
    before = signal.signal(signal.SIGINT, hears)
    try:
        with pytest.raises(SystemExit) as ended:
            killed_and_ended()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("status", [0, 2, INTERRUPTED])
def test_other_ends_keep_their_status(status):
    with pytest.raises(SystemExit) as ended, ended_as_by_ctrl_c():
        raise SystemExit(status)
    assert ended.value.code == status


LOSES_IT = """
import os, signal
try:
    os.kill(os.getpid(), signal.SIGTERM)
except KeyboardInterrupt:  # as torch does with what numpy raises when it imports that
    pass
"""
GOES_ON = """
from espalier.commands import ended_as_by_ctrl_c
with ended_as_by_ctrl_c():
    import loses_it
print("went on")
"""


def test_kill_while_a_module_is_imported_is_not_lost(tmp_path):
    (tmp_path / "loses_it.py").write_text(LOSES_IT)
    command = [sys.executable, "-c", GOES_ON]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (-signal.SIGTERM, ""), ended.stderr


def test_a_handler_of_ones_own_stays():
    def own(signum, frame):
        raise AssertionError

    before = signal.signal(signal.SIGTERM, own)
    try:
        with ended_as_by_ctrl_c():
            assert signal.getsignal(signal.SIGTERM) is own
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_warning_is_one_line(capsys):
    before = warnings.showwarning
    with warning_in_one_line():
        warnings.simplefilter("always")
        warnings.warn("the folder was left by another", stacklevel=1)
    assert capsys.readouterr().err == "espalier: the folder was left by another\n"
    assert warnings.showwarning is before
