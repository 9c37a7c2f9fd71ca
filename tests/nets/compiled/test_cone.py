"""What halting depends on is decided by itself alone."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.language.halting import halting_variables
from espalier.nets.compiled.cone import halting_dimensions
from strategies import Case, cases


@given(cases(causal=False), st.integers(0, 99))
@settings(max_examples=40)
def test_other_dimensions_change_nothing_in_it(case: Case, seed: int) -> None:
    model = es.compile_program(case.program, dtype=torch.float64)
    if case.program.halt is None:
        return
    inside = halting_dimensions(model.weights)
    outside = torch.ones(model.layout.width, dtype=torch.bool)
    outside[inside] = False
    tokens = torch.tensor([case.batch[0]])
    lengths = torch.tensor([tokens.shape[1]])
    embedding = model.encoder.token_embedding
    table = getattr(embedding, "weight", embedding)
    runs = []
    for noise in (False, True):
        if noise:
            source = torch.Generator().manual_seed(seed)
            shape = (len(table), int(outside.sum()))
            table.data[:, outside] = torch.rand(shape, generator=source, dtype=torch.float64)
        finished = model.encoder(tokens, lengths, max_layers=5)
        runs.append((finished.layers.tolist(), finished.halted.tolist()))
    assert runs[0] == runs[1]


@given(cases())
@settings(max_examples=40)
def test_it_is_made_of_the_variables_that_halting_depends_on(case: Case) -> None:
    layout = es.compile_program(case.program).layout
    if case.program.halt is None:
        return
    names = halting_variables(case.program)
    allowed = {dimension for name in names for dimension in layout.dimensions(name)}
    allowed |= {layout.one, *(layout.flags.get(name) for name in names)}
    assert set(halting_dimensions(es.compile_program(case.program).weights).tolist()) <= allowed
