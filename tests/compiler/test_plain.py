"""A textbook Transformer equals the compiled model: on the zoo, and on random programs."""

import copy
import warnings

import pytest
import torch
from hypothesis import given

import espalier as es
from espalier.compiler import CompiledModel
from espalier.errors import CompileError
from espalier.language import numerical_var, program_spec, qkv, var
from espalier.nets import PlainTransformer
from strategies import Case, cases

LAYERS = {"scan": 3, "subleq": 5}
# Large ones are as large in docs/results/tools.md.
SMALLER = {
    "induction": {"letters": 3, "longest": 6},
    "most-frequent": {"letters": 5, "longest": 8},
    "parity-sequential-absolute": {"positions": 8},
    "scan": {"outputs": 24},
    "subleq": {"lowest": -6, "highest": 7, "memory": 8},
}


def assert_equal(model: CompiledModel, plain: PlainTransformer, batch, layers: int) -> None:
    """Logits at every position of every row, and what `run_many` reads from them."""
    with torch.no_grad():
        found = plain(plain.pad(batch))
    lengths = torch.tensor([len(row) for row in batch])
    given = plain.pad(batch) % model.program.input_range
    expected = model(given, lengths, max_layers=layers).detach()
    for row, run in enumerate(model.run_many(batch, max_layers=layers)):
        own, wanted = found[row, : lengths[row]], expected[row, : lengths[row]]
        assert own.argmax(-1).tolist() == run.outputs
        torch.testing.assert_close(own, wanted.to(own.dtype), atol=1e-6, rtol=0)


@given(cases())
def test_random_programs(case: Case) -> None:
    layers = 4 if case.max_layers is None else case.max_layers
    model = es.compile_program(case.program)
    try:
        plain = model.unroll(layers, max(map(len, case.batch)))
    except CompileError as error:
        assert "softmax" in str(error)  # noqa: PT017
    else:
        assert_equal(model, plain, case.batch, layers)


@pytest.mark.parametrize("name", es.zoo.names())
def test_zoo(name: str) -> None:
    entry = es.zoo.load(name, **SMALLER.get(name, {}))
    batch = [entry.encode(given) for given in entry.samples(100, size=4)]
    model, layers = es.compile_program(entry.program), LAYERS.get(name, entry.max_layers or 6)
    plain = model.unroll(layers, max(map(len, batch)))
    assert_equal(model, plain, batch, layers)


@pytest.fixture(scope="module")
def parity() -> CompiledModel:
    return es.compile_program(es.zoo.load("parity-sequential-relative").program)


def test_sequences_of_one_batch_do_not_see_each_other(parity: CompiledModel) -> None:
    plain = parity.unroll(8, 7)
    batch = [[2, 1, 0, 1, 1, 0], [2, 1], [2]]
    together = plain(plain.pad(batch))
    for row, tokens in enumerate(batch):
        assert torch.equal(together[row, : len(tokens)], plain(torch.tensor([tokens]))[0])


def test_a_soft_or_edited_model_is_followed() -> None:
    """What is not selected has the same weight as in the compiled model, also where it shows."""
    program = es.zoo.load("dyck").program
    soft = es.compile_program(program, sharpness=6.0, dtype=torch.float64)
    plain, batch = soft.unroll(1, 6), [[1, 2, 0, 2], [0, 1]]
    assert_equal(soft, plain, batch, 1)
    edited = es.compile_program(program, dtype=torch.float64)
    with torch.no_grad():
        edited.encoder.mlp.first.values[::7] *= 1.25
        edited.encoder.mlp.second.values[::5] *= 0.5
    assert not edited.is_as_compiled
    assert_equal(edited, edited.unroll(1, 6), batch, 1)


def test_it_is_an_ordinary_module(parity: CompiledModel) -> None:
    plain, tokens = parity.unroll(3, 4), torch.tensor([[2, 1, 0, 1]])
    logits = plain(tokens)
    logits.sum().backward()
    assert plain.blocks[0].mlp.second.weight.grad is not None
    assert {type(module).__module__.split(".")[0] for module in plain.modules()} == {
        "espalier",
        "torch",
    }
    seen = []
    plain.blocks[1].attn.softmax.register_forward_hook(lambda _, __, out: seen.append(out))
    twin = copy.deepcopy(plain).to(torch.float64)
    twin(tokens)
    assert seen[0].shape == (1, 3, 5, 5)
    again = parity.unroll(3, 4)
    torch.nn.init.ones_(again.embed.weight)
    again.load_state_dict(plain.state_dict())
    assert torch.equal(again(tokens), logits)


def test_blocks_share_their_parameters_until_untied(parity: CompiledModel) -> None:
    plain = parity.unroll(4, 4)
    alone = plain.untied()
    assert plain.blocks[1].mlp.first.weight is plain.blocks[3].mlp.first.weight
    assert alone.blocks[1].mlp.first.weight is not alone.blocks[3].mlp.first.weight
    tokens = torch.tensor([[2, 1, 0, 1]])
    assert torch.equal(plain(tokens), alone(tokens))
    with torch.no_grad():
        alone.blocks[3].mlp.second.weight.zero_()
    assert torch.equal(plain(tokens), parity.unroll(4, 4)(tokens))


def test_torch_exports_it(parity: CompiledModel) -> None:
    plain, tokens = parity.unroll(3, 6), torch.tensor([[2, 1, 0, 1], [2, 0, 0, 1]])
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("position", max=6)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(plain, (tokens,), dynamic_shapes=(sizes,)).module()
    for other in (tokens, torch.tensor([[2, 1, 1, 1, 0]] * 3)):
        assert torch.equal(exported(other), plain(other))


def test_labels_name_all_parts() -> None:
    model = es.compile_program(es.zoo.load("addition").program)
    config = model.unroll(2, 8).config
    assert len(config.residual_labels) == len(set(config.residual_labels)) == config.d_model
    assert len(config.head_labels) == config.n_heads
    assert config.head_labels[-1] == "done"
    assert len(config.block_labels) == len(config.plan) == 2 * 3
    assert config.token_labels[-2:] == ("<pad>", "<bos>")


def averaging(numbers: tuple[float, ...]) -> CompiledModel:
    program = program_spec(
        variables={
            "number": numerical_var(numbers, input_init_fn=lambda token: numbers[token]),
            "one": var(1),
            "out": var(2),
        },
        heads={"mean": qkv("one", "one", "number")},
        rules=[],
        output_name="out",
        input_range=len(numbers),
    )
    return es.compile_program(program)


def test_means_that_softmax_cannot_distinguish_are_refused() -> None:
    with pytest.raises(CompileError, match=r"sum of \d+ floats"):
        averaging((0.0, 1e-6, 1e9)).unroll(1, 10)
    with pytest.raises(CompileError, match="fewer positions"):
        averaging((0.0, 1.0, 1e9 + 1)).unroll(1, 1 << 18)
    averaging((0.0, 0.1, 0.2)).unroll(1, 64)


@pytest.mark.parametrize(("layers", "positions"), [(-1, 4), (2, 0), (1.5, 4), (2, 1 << 20)])
def test_bad_sizes_are_refused(layers: int, positions: int) -> None:
    model = es.compile_program(es.zoo.load("sort").program)
    with pytest.raises(CompileError, match=r"layers|positions"):
        model.unroll(layers, positions)
    with pytest.raises(ValueError, match="unrolled for 3"):
        model.unroll(1, 3)(torch.zeros(1, 4, dtype=torch.long))
