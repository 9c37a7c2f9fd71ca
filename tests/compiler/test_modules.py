"""A compiled model is a module like any other, and means the same whichever way it is used."""

import copy
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier import zoo
from espalier.compiler.model import CompiledModel, pad
from espalier.language import program_spec, qkv, v_relative, var
from espalier.nets.compiled import CompiledEncoder
from strategies import Case, cases

PARITY = zoo.load("parity-sequential-relative")
TOKENS = torch.tensor([[2, 1, 1, 0, 1], [2, 0, 1, 1, 0]])
CPU = torch.device("cpu")


def parity(**settings) -> CompiledModel:
    return es.compile_program(PARITY.program, **settings)


def outputs(logits: torch.Tensor, lengths: torch.Tensor) -> list[list[int]]:
    return [row[:length].tolist() for row, length in zip(logits.argmax(-1), lengths, strict=True)]


@given(cases(strict=None))
@settings(max_examples=max(40, settings().max_examples // 2))
def test_calling_running_and_a_fixed_depth_are_one_meaning(case: Case) -> None:
    model = es.compile_program(case.program)
    runs = model.run_many(case.batch, max_layers=case.max_layers)
    tokens, lengths = pad(case.batch, CPU)
    finished = model.encoder(tokens, lengths, max_layers=case.max_layers)
    assert outputs(finished.logits, lengths) == [run.outputs for run in runs]
    assert finished.layers.tolist() == [run.layers for run in runs]
    assert finished.halted.tolist() == [run.halted for run in runs]
    depth = max(run.layers for run in runs)
    fixed = model.fixed_depth(depth)(tokens, lengths)
    assert torch.equal(fixed, finished.logits)
    assert torch.equal(model(tokens, lengths, max_layers=case.max_layers), fixed)


@pytest.mark.parametrize("name", zoo.names())
def test_the_zoo_means_the_same_called_and_run(name: str) -> None:
    entry = zoo.load(name)
    batch = [entry.encode(text) for text in entry.samples(6, size=4, seed=0)]
    model = es.compile_program(entry.program)
    layers = None if entry.program.halt else entry.max_layers
    runs = model.run_many(batch, max_layers=layers)
    tokens, lengths = pad(batch, CPU)
    with torch.no_grad():
        found = model(tokens, lengths, max_layers=layers)
    assert outputs(found, lengths) == [run.outputs for run in runs]


@given(cases(strict=None), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_an_edit_means_the_same_called_and_run(case: Case, random) -> None:
    """What run computes once from the weights is recomputed where any of them changed."""
    model = es.compile_program(case.program, dtype=torch.float64)
    tokens, lengths = pad(case.batch, CPU)
    model.run_many(case.batch, max_layers=2)
    for _ in range(3):
        chosen = random.choice([p for p in model.parameters() if p.numel()])
        chosen.data.view(-1)[random.randrange(chosen.numel())] += random.choice([0.37, -0.21, 3.1])
        fast = model.fast_encoder()
        assert fast is not None
        with torch.no_grad():
            quick = fast(tokens, lengths, max_layers=3)
            plain = model.encoder(tokens, lengths, max_layers=3)
        valid = torch.arange(tokens.shape[1]) < lengths[:, None]
        torch.testing.assert_close(quick.logits[valid], plain.logits[valid])
        assert torch.equal(quick.layers, plain.layers)


@pytest.mark.parametrize("call", ["run", "forward"])
def test_hooks_fire_once_a_layer_on_every_sublayer(call: str) -> None:
    entry = zoo.load("most-frequent")
    model, fired = es.compile_program(entry.program), Counter()
    for name, module in model.encoder.named_modules():
        module.register_forward_hook(lambda *_, name=name: fired.update([name]))
    tokens, layers = entry.encode("abba"), 3
    if call == "run":
        model.run(tokens, max_layers=layers)
    else:
        model(torch.tensor([tokens]), max_layers=layers)
    once = {"", "token_embedding", "position_embedding", "unembedding"}
    expected = {name: 1 if name in once else layers for name, _ in model.encoder.named_modules()}
    assert fired == expected
    for head in entry.program.heads:
        assert f"attention.{head}.value" in fired
    assert {"attention", "mlp", "mlp.first", "mlp.second"} < set(fired)


def test_what_a_hook_returns_takes_effect_in_run_and_its_removal_too() -> None:
    model, tokens = parity(), [2, 1, 1, 1]
    free = model.run(tokens)
    hook = model.encoder.attention.done_left.register_forward_hook(lambda *_: _[-1] * 0)
    assert not model.run(tokens, max_layers=9).halted
    assert not model.run_many([tokens], max_layers=9)[0].halted
    hook.remove()
    assert model.run(tokens) == free


def test_a_sublayer_can_be_replaced_but_then_not_saved(tmp_path) -> None:
    class Nothing(torch.nn.Module):
        def forward(self, z, valid=None):
            return torch.zeros_like(z)

    for place, parent in (("mlp", ""), ("done_left", "attention")):
        model = parity()
        setattr(model.encoder.get_submodule(parent), place, Nothing())
        assert not model.run([2, 1, 1], max_layers=5).halted
        assert not model.is_as_compiled
        assert "edited" in repr(model)
        with pytest.raises(es.ModelError, match=f"{place} was replaced by a Nothing"):
            model.save(tmp_path / "model.safetensors")


def test_generation_refuses_hooks_that_it_would_not_call() -> None:
    entry = zoo.load("parity-scratchpad")
    model = es.compile_program(entry.program)
    model.encoder.mlp.register_forward_hook(lambda *_: None)
    with pytest.raises(es.ModelError, match="remove the hooks"):
        es.generate(model, entry.encode("101"), max_tokens=3)


def test_names_that_torch_does_not_allow_are_changed() -> None:
    program = program_spec(
        {"x": var(2, input_init_fn=lambda t: t)},
        {name: v_relative("x", -1) for name in ("forward", "a.b", "training", "names")},
        ffn_fn=lambda z: None,
        output_name="x",
        input_range=2,
    )
    model = es.compile_program(program)
    assert [name for name, _ in model.encoder.attention.named_children()] == [
        "forward_",
        "a_b",
        "training_",
        "names_",
    ]
    model.encoder.attention.head("a.b")
    assert model.weights.heads[0].relative_bias.offsets == (-1,)


@given(cases(strict=None))
@settings(max_examples=25)
def test_every_weight_has_a_gradient_and_it_is_finite(case: Case) -> None:
    model = es.compile_program(case.program)
    tokens, lengths = pad(case.batch, CPU)
    model(tokens, lengths, max_layers=2).square().sum().backward()
    for name, parameter in model.named_parameters():
        # The sink of a head that counts is compared and not added, which has no slope.
        counts = name.endswith("sink") and model.get_submodule(name[: -len(".sink")]).mean
        assert counts or parameter.grad is not None, name
        assert counts or parameter.grad.isfinite().all(), name


def test_gradients_are_those_of_small_changes() -> None:
    """Low sharpness and weights off their corners, where softmax and clipping are smooth."""
    model = parity(sharpness=2.0, dtype=torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.05 * torch.randn(parameter.shape, generator=torch.Generator()).double()
        model.encoder.mlp.first.bias += 0.4
    fixed, names = model.fixed_depth(2), [name for name, _ in model.named_parameters()]

    def loss(*values: torch.Tensor) -> torch.Tensor:
        given = dict(zip(names, values, strict=True))
        return torch.func.functional_call(fixed, given, (TOKENS,)).square().sum()

    assert torch.autograd.gradcheck(loss, tuple(model.parameters()), fast_mode=True)


def test_gradients_reach_the_embeddings_of_an_input() -> None:
    model, seen = parity(sharpness=2.0), []

    def keep(module, inputs, embedded):
        embedded.retain_grad()
        seen.append(embedded)

    model.encoder.token_embedding.register_forward_hook(keep)
    model(TOKENS, max_layers=4)[0, -1, 1].backward()
    assert seen[0].grad[0].abs().sum() > 0
    assert not seen[0].grad[1].any()


@pytest.mark.parametrize("name", ["parity-sequential-relative", "most-frequent", "addition"])
def test_a_fixed_depth_is_exported(name: str) -> None:
    entry = zoo.load(name)
    batch = [entry.encode(text) for text in entry.samples(4, size=4, seed=0)]
    tokens, lengths = pad(batch, CPU)
    fixed = es.compile_program(entry.program).fixed_depth(3)
    exported = torch.export.export(fixed, (tokens, lengths)).module()
    torch.testing.assert_close(exported(tokens, lengths), fixed(tokens, lengths))


def test_a_fixed_depth_is_exported_for_any_batch_and_length() -> None:
    fixed = parity().fixed_depth(4)
    rows, columns = torch.export.Dim("B", max=64), torch.export.Dim("N", min=2, max=64)
    exported = torch.export.export(
        fixed, (TOKENS,), dynamic_shapes={"tokens": {0: rows, 1: columns}}
    ).module()
    longer = torch.tensor([[2, 1, 1, 0, 1, 1, 1, 0]] * 5)
    torch.testing.assert_close(exported(longer), fixed(longer))


@pytest.mark.parametrize("name", ["parity-sequential-relative", "most-frequent", "scan"])
def test_a_fixed_depth_is_vmapped_over_inputs_and_weights(name: str) -> None:
    entry = zoo.load(name)
    size = len(entry.encode(entry.samples(1, size=4, seed=0)[0]))
    tokens = torch.randint(entry.program.input_range, (3, 2, size))
    fixed = es.compile_program(entry.program).fixed_depth(2)
    expected = torch.stack([fixed(each) for each in tokens])
    torch.testing.assert_close(torch.vmap(fixed)(tokens), expected)
    # Members of an ensemble, each with noise of its own.
    weights = {key: p.detach() for key, p in fixed.named_parameters()}
    stacked = {key: torch.stack([p, p + 0.25, p * 0.5]) for key, p in weights.items()}
    together = torch.vmap(lambda own: torch.func.functional_call(fixed, own, (tokens[0],)))(stacked)
    for member in range(3):
        own = {key: p[member] for key, p in stacked.items()}
        alone = torch.func.functional_call(fixed, own, (tokens[0],))
        torch.testing.assert_close(together[member], alone, rtol=1e-4, atol=1e-4)
    gradients = torch.func.vmap(
        torch.func.grad(lambda own, x: torch.func.functional_call(fixed, own, (x,)).sum()),
        in_dims=(None, 0),
    )(weights, tokens)
    assert all(gradients[key].shape == (3, *weights[key].shape) for key in weights)


def test_large_matrices_are_never_written_out(monkeypatch) -> None:
    model = parity()
    expected = model(TOKENS)
    monkeypatch.setattr("espalier.nets.compiled.modules.WRITTEN_OUT", 0)
    torch.testing.assert_close(model(TOKENS), expected)
    torch.testing.assert_close(torch.vmap(model.fixed_depth(4))(TOKENS[None])[0], expected)


def test_copies_and_state_dicts_carry_edits() -> None:
    model = parity()
    model.run([2, 1])
    model.encoder.mlp.first.bias.data[0] -= 5
    twin, fresh = copy.deepcopy(model), parity()
    assert not twin.is_as_compiled
    fresh.load_state_dict(model.state_dict())
    assert fresh.run([2, 1, 1], max_layers=4) == twin.run([2, 1, 1], max_layers=4)
    twin.encoder.mlp.first.bias.data[0] += 5
    assert twin.is_as_compiled
    assert not model.is_as_compiled
    other = es.compile_program(zoo.load("parity-sequential-absolute").program)
    with pytest.raises(RuntimeError, match=r"another program|size mismatch"):
        other.load_state_dict(model.state_dict(), strict=False)


def test_weights_of_a_program_that_differs_in_places_only_are_refused() -> None:
    def program(name: str):
        return program_spec(
            {"x": var(2, input_init_fn=lambda t: t), "y": var(2)},
            {"h": qkv("x", name, "x")},
            ffn_fn=lambda z: None,
            output_name="x",
            input_range=2,
        )

    one, other = (es.compile_program(program(name)) for name in "xy")
    with pytest.raises(RuntimeError, match=r"attention\.h\.key\.columns.*another program"):
        one.load_state_dict(other.state_dict())


def test_training_can_start_from_a_program() -> None:
    model = parity(sharpness=5.0)
    optimiser, target = torch.optim.Adam(model.parameters(), 1e-2), torch.tensor([[0, 1, 1, 0, 0]])
    losses = []
    for _ in range(12):
        logits = model(TOKENS[:1], max_layers=4)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    assert not model.is_as_compiled
    found = model(TOKENS, max_layers=4).argmax(-1).tolist()
    assert found == [run.outputs for run in model.run_many(TOKENS.tolist(), max_layers=4)]


def test_thresholds_keep_their_digits_in_a_narrow_model() -> None:
    def read(z):
        z["x"] = 1 - z["x"] if z["all"] == 1 else z["x"]

    program = program_spec(
        {"x": var(2, input_init_fn=lambda t: t), "one": var(1)},
        {"all": qkv("one", "one", "x")},
        ffn_fn=read,
        output_name="x",
        input_range=2,
    )
    model = es.compile_program(program, dtype=torch.bfloat16)
    assert model.encoder.mlp.expansion.inner.values.dtype == torch.float32
    before = {name: p.dtype for name, p in model.named_parameters()}
    model.to(torch.bfloat16)
    assert {name: p.dtype for name, p in model.named_parameters()} == before
    assert model.is_as_compiled


def test_an_encoder_that_never_halts_is_found_out_when_called() -> None:
    program = program_spec(
        {"x": var(3), "done": var(2)},
        ffn_fn=lambda z: z.__setitem__("x", (z["x"] + 1) % 3),
        output_name="x",
        input_range=2,
        halt_spec=es.language.halt_spec("done"),
    )
    model = es.compile_program(program)
    assert isinstance(model.encoder, CompiledEncoder)
    with torch.no_grad(), pytest.raises(es.ProgramError, match="row 0 of the batch never halts"):
        model(torch.tensor([[0, 1]]))


@pytest.mark.parametrize("layers", [-1, 1.5, True, "2", None])
def test_a_depth_that_is_none_is_refused(layers: object) -> None:
    with pytest.raises(es.ProgramError, match="layers"):
        parity().fixed_depth(layers)
