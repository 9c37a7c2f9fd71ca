"""Random numbers that a function draws, from a state of its own or from everyone's."""

import random
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from espalier.errors import ProgramError
from espalier.language import var
from espalier.language.exploration import explore

FEW = {"a": var(3), "y": var(4), "h": var(2)}


@pytest.mark.parametrize("draw", [random.random, np.random.rand])
def test_random_numbers_are_noticed_even_where_they_change_nothing(draw):
    def step(z):
        z["y"] = int(draw() < 2)

    with pytest.raises(ProgramError, match="random numbers were drawn"):
        explore(step, FEW)
    state = random.getstate()
    explore(lambda z: z.update(y=z["a"]), FEW)
    assert random.getstate() == state
    with ThreadPoolExecutor(1) as other:  # of a server, say, that draws meanwhile
        once = [other]

        def beside(z):
            if once:
                once.pop().submit(random.random).result()
            z["y"] = z["a"]

        assert explore(beside, FEW)
        with pytest.raises(ProgramError, match="random numbers were drawn"):
            explore(step, FEW)


FIRST = """
import sys
from espalier.errors import ProgramError
from espalier.language import program_spec, var
import numpy as np

assert "numpy.random" not in sys.modules
first = None

def seeded(z):
    z["y"] = int(np.random.default_rng(z["a"]).integers(4))

def of_an_older_kind(z):
    from numpy.random import RandomState
    z["y"] = int(RandomState(z["a"]).randint(4))

def drawn(z):
    z["y"] = int(np.random.rand() < 2)

def drawn_once(z):
    global first
    if first is None:
        first = np.random.randint(4)
    z["y"] = int(first)

function, rules = globals()[sys.argv[1]], sys.argv[2]
given = {"rules": "lazy"} if rules == "lazy" else {}
try:
    program = program_spec(
        {"a": var(3, input_init_fn=int), "y": var(4)},
        ffn_fn=function, output_name="y", input_range=3, **given,
    )
    from espalier import interpret
    interpret(program, [0, 1, 2], max_layers=1)
    print("accepted")
except ProgramError as error:
    print(error)
"""


@pytest.mark.parametrize("rules", ["explored", "lazy"])
@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("seeded", "accepted"),
        ("of_an_older_kind", "accepted"),
        ("drawn", "random numbers were drawn"),
        ("drawn_once", "does not repeat itself"),
    ],
)
def test_the_first_use_of_numpys_random_numbers_is_no_draw(function, says, rules):
    """In a process in which nothing has imported them yet."""
    command = [sys.executable, "-c", textwrap.dedent(FIRST), function, rules]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert says in run.stdout
