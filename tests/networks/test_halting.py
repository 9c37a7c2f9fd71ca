"""A compiled network that halts before its layers are done is not taken for one that runs on."""

import pytest

import espalier as es
from espalier.errors import DataError
from espalier.language import halt_spec, program_spec, var

AHEAD = 49  # the token that begins at 1, where all others begin at 0


def count_up(z):
    z["count"] = min(5, z["count"] + 1)
    if z["count"] >= 3:
        z["done"] = 1


def test_an_input_that_halts_early_is_refused_with_the_depth_that_suits_it():
    program = program_spec(
        variables={"count": var(6, input_init_fn=lambda x: int(x == AHEAD)), "done": var(2)},
        heads={},
        ffn_fn=count_up,
        output_name="count",
        input_range=50,
        halt_spec=halt_spec("done", halt_value=1),
    )
    model = es.compile_program(program)
    net = es.network(model.fixed_depth(3))
    assert es.decompose(net, [1, 2, 3], focus=[1]).error < 1e-5
    with pytest.raises(DataError, match=r"halted before layer 3 of 3 .*fixed_depth\(2\)"):
        es.decompose(net, [AHEAD, AHEAD], focus=[0])
    assert es.decompose(es.network(model.fixed_depth(2)), [AHEAD] * 2, focus=[0]).error < 1e-5
