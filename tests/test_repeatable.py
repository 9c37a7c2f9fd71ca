import os
import subprocess
import sys
from pathlib import Path

LAW = """
import sys
sys.path.insert(0, {tests!r})
from hypothesis import HealthCheck, given, settings, strategies as st
from repeatable import name_every_source
name_every_source()
{imports}

@settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.text() | st.integers() | st.floats()))
def law(values):
    print(ascii(values))

law()
"""


def drawn(imports: str, hashes: str) -> str:
    code = LAW.format(tests=str(Path(__file__).parent), imports=imports)
    environment = os.environ | {"PYTHONHASHSEED": hashes}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_what_is_drawn_depends_neither_on_imports_nor_on_hashes() -> None:
    examples = drawn("", hashes="0")
    assert examples.count("\n") == 100
    assert drawn("import espalier.rasp, espalier.zoo", hashes="1") == examples
