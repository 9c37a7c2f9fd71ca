import subprocess
import sys

import pytest

import espalier as es
from espalier import language


def test_every_public_name_is_there_and_documented() -> None:
    for name in es.__all__:
        found = getattr(es, name)
        assert isinstance(found, str) or found.__doc__, name
    for name in language.__all__:
        assert getattr(language, name) is not None


def test_the_names_that_users_rely_on() -> None:
    wanted = (
        "interpret interpret_many compile_program verify generate evaluate minimal local_optimum "
        "train load language_model english_model decompose interdependence reproduce zoo rasp "
        "circuit to_onnx to_transformers to_transformer_lens "
        "language ProgramError CompileError UndefinedError FileError"
    )
    assert set(wanted.split()) <= set(es.__all__)
    wanted = "var numerical_var set_var qkv v_relative halt_spec program_spec RuleBuilder Rule"
    assert set(wanted.split()) <= set(language.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="intrepret"):
        es.intrepret  # noqa: B018


def test_programs_are_written_and_interpreted_without_torch() -> None:
    code = (
        "import sys, espalier as es; entry = es.zoo.load('parity-sum-modulo');"
        "trace = es.interpret(entry.program, entry.encode('11'), max_layers=1);"
        "str(trace); trace.to_html(); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
