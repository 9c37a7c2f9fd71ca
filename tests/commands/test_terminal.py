import os
import signal
import warnings

import pytest

from espalier.commands import hearing_ctrl_c, warning_in_one_line
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


def test_a_warning_is_one_line(capsys):
    before = warnings.showwarning
    with warning_in_one_line():
        warnings.simplefilter("always")
        warnings.warn("the folder was left by another", stacklevel=1)
    assert capsys.readouterr().err == "espalier: the folder was left by another\n"
    assert warnings.showwarning is before
