"""Less clean networks do what clean ones do, in other directions."""

import copy
import itertools
import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open

import espalier as es
from espalier import zoo
from espalier.compiler import decode, encode
from espalier.compiler.realism.states import blocks, spread
from espalier.interpreter import Machine
from espalier.interventions import Cut, KnockOut, Set
from espalier.language import halt_spec, numerical_var, qkv, var
from strategies import Case, cases

PARITY = zoo.load("parity-sequential-relative")
INPUTS = [PARITY.encode(bits) for bits in ("1", "01", "110", "0111", "1011011")]


def realistic(name: str = "parity-sequential-relative", **dials) -> es.compiler.CompiledModel:
    return es.compile_program(zoo.load(name).program, realism=es.Realism(**dials))


def test_without_realism_nothing_changes() -> None:
    """The digest of weights compiled before there was such a thing."""
    digest = "3b859cd6bad25c5eb895aacec3d5d666c342116cb0996550d9e1a7d105649750"
    assert es.compile_program(PARITY.program).compiled_digest == digest


@pytest.mark.parametrize("dials", [{}, {"rotation": 3}, {"width": 30, "rotation": 1}])
def test_a_stream_is_read_and_written_through_the_basis(dials) -> None:
    model = realistic(**dials)
    assert model.basis.shape == (len(model.labels), model.weights.token_embedding.shape[1])
    state = Machine(PARITY.program).start(INPUTS)
    z = encode(model.layout, state.columns)
    for name, found in decode(model.layout, z).items():
        assert found.tolist() == state.columns[name].tolist()
    tokens = torch.tensor(INPUTS[-1])
    assert torch.allclose(
        model.encoder.embed(tokens[None])[0],
        encode(model.layout, Machine(PARITY.program).start([INPUTS[-1]]).columns),
        atol=1e-5,
    )


def test_rotated_weights_are_the_clean_ones_in_another_basis() -> None:
    model, clean = realistic(rotation=5), realistic()
    basis = model.basis
    for one, other in zip(model.weights.heads, clean.weights.heads, strict=True):
        for name in ("query", "key", "value"):
            back = getattr(one, name).dense() @ basis.T
            assert torch.allclose(back, getattr(other, name).dense(), atol=1e-3)
        assert torch.allclose(basis @ one.output.dense(), other.output.dense(), atol=1e-5)
    w1 = model.weights.feedforward.w1.dense() @ basis.T
    assert torch.allclose(w1, clean.weights.feedforward.w1.dense(), atol=1e-5)
    assert (basis @ basis.T - torch.eye(len(basis))).abs().max() < 1e-5


def test_saved_copied_hooked_and_moved(tmp_path) -> None:
    model = realistic(rotation=2, distractors=2, width=20)
    model.save(tmp_path / "model.safetensors")
    loaded = es.load(tmp_path / "model.safetensors")
    assert loaded.realism == model.realism
    assert torch.equal(loaded.layout.basis.directions, model.layout.basis.directions)
    assert loaded.is_as_compiled
    wanted = [run.outputs for run in model.run_many(INPUTS)]
    for other in (loaded, copy.deepcopy(model), copy.deepcopy(model).to(torch.float64)):
        assert [run.outputs for run in other.run_many(INPUTS)] == wanted
        assert es.verify(PARITY.program, INPUTS, model=other).ok
    seen = []
    model.encoder.attention.distractor_1.register_forward_hook(lambda *call: seen.append(call[-1]))
    assert [run.outputs for run in model.run_many(INPUTS)] == wanted
    assert any(added.abs().max() > 0.1 for added in seen)
    assert "encoder.halt_direction" in dict(model.named_parameters())
    with torch.no_grad():
        model.encoder.halt_direction.zero_()
    assert not model.is_as_compiled
    assert not model.run(INPUTS[0], max_layers=9).halted


def test_endless_runs_are_noticed() -> None:
    """A rotated state comes back only nearly."""
    program = es.program_spec(
        {"x": var(3), "done": var(2)},
        ffn_fn=lambda z: z.__setitem__("x", (z["x"] + 1) % 3),
        output_name="x",
        input_range=2,
        halt_spec=halt_spec("done"),
    )
    model = es.compile_program(program, realism=es.Realism(rotation=1))
    with torch.no_grad(), pytest.raises(es.ProgramError, match="never halts"):
        model(torch.tensor([[0, 1]]))


def random_realism(dice: Random, meanings: int) -> es.Realism:
    return es.Realism(
        sharpness=dice.choice([None, 100, 60, 40, 25, 18, 14, 10]),
        ramp=dice.choice([0.5, 0.5, 0.2, 0.1, 0.8, 1.0]),
        rotation=dice.choice([None, 0, 1]),
        width=dice.choice([None, None, meanings + 4, *(max(1, meanings - k) for k in (1, 2, 4))]),
        distractors=dice.choice([0, 0, 1, 2]),
        noise=dice.choice([0.0, 0.0, 0.0, 1e-5, 1e-4, 1e-3]),
        seed=dice.randint(0, 9),
        positions=dice.choice([8, 16, 64]),
        layers=8,
    )


@settings(max_examples=max(30, settings().max_examples // 4))
@given(cases(strict=True), st.randoms(use_true_random=False))
def test_what_is_accepted_is_right(case: Case, dice: Random) -> None:
    realism = random_realism(dice, es.compiler.lay_out(case.program).width)
    dtype = dice.choice([torch.float32, torch.float32, torch.float64])
    try:
        model = es.compile_program(case.program, realism=realism, dtype=dtype)
    except es.CompileError as error:
        refusal = str(error)
    else:
        found = es.verify(case.program, case.batch, model=model, max_layers=case.max_layers)
        assert found.count == 0, (realism, found.disagreements[:3])
        return
    assert any(words in refusal for words in ("width=", "proven=False", "exactly"))


@pytest.mark.parametrize("name", ["addition", "sort", "dyck", "parity-scratchpad"])
def test_zoo_programs_in_another_basis(name: str) -> None:
    entry = zoo.load(name)
    realism = es.Realism(rotation=0, sharpness=64, distractors=1)
    model = es.compile_program(entry.program, realism=realism, dtype=torch.float64)
    inputs = [entry.encode(given) for given in entry.samples(3, size=4)]
    assert es.verify(entry.program, inputs, model=model, max_layers=entry.max_layers).ok


@pytest.mark.parametrize(
    ("name", "dials", "words"),
    [
        (PARITY.name, {"ramp": 1.5}, "one condition fails still writes 0.17"),
        (PARITY.name, {"ramp": 1.0, "rotation": 0}, "bears 0"),
        (PARITY.name, {"noise": 0.3}, "the logits of head 'parity_left'.* query and key read"),
        (PARITY.name, {"sharpness": 4}, r"rule \[parity.* from heads"),
        (PARITY.name, {"width": 2}, "5 of 9 meanings .* give width=6 or more"),
        (PARITY.name, {"width": 6}, r"rule \[parity.* from what it reads"),
        (PARITY.name, {"sharpness": 1}, "the logits of head 'parity_left'"),
        ("sort", {"rotation": 0}, "boundary of .*float64"),
        ("sort", {"noise": 1e-3}, "'rank_share' is numerical"),
    ],
)
def test_what_cannot_be_proven_is_refused_by_name(name: str, dials, words: str) -> None:
    with pytest.raises(es.CompileError, match=words):
        realistic(name, **dials)


def test_numbers_in_parts_stay_where_they_are() -> None:
    thirds = numerical_var((0.0, 2**-30, 1 / 3, 1000.5), input_init_fn=lambda t: (1 / 3, 0.0)[t])
    program = es.program_spec(
        {"x": thirds, "out": var(2)},
        {"mean": qkv("out", "out", "x", relative_positions=(0, -1))},
        ffn_fn=lambda z: z.__setitem__("out", int(z["mean"] == 1 / 3)),
        output_name="out",
        input_range=2,
    )
    model = es.compile_program(program, realism=es.Realism(distractors=1))
    assert es.verify(program, [[0, 0, 1], [1, 0]], model=model, max_layers=2).ok
    with pytest.raises(es.CompileError, match=r"'mean' are held in \d+ parts.*digit by digit"):
        es.compile_program(program, realism=es.Realism(rotation=1))


@pytest.mark.parametrize(
    "dials",
    [
        *({"ramp": 0}, {"ramp": "1"}, {"sharpness": -1}, {"noise": float("nan")}, {"width": 0}),
        *({"distractors": 1.5}, {"seed": True}, {"positions": 0}, {"proven": 1}, {"rotation": -1}),
    ],
)
def test_impossible_dials_are_refused(dials) -> None:
    with pytest.raises(es.CompileError, match=f"realism: {next(iter(dials))} is"):
        es.Realism(**dials)


def test_sharpness_is_given_once() -> None:
    with pytest.raises(es.CompileError, match="given twice"):
        es.compile_program(PARITY.program, sharpness=50, realism=es.Realism(sharpness=50))
    with pytest.raises(es.CompileError, match=r"espalier\.Realism"):
        es.compile_program(PARITY.program, realism={"sharpness": 50})
    one = es.compile_program(PARITY.program, sharpness=50, realism=es.Realism())
    assert one.realism.sharpness == 50
    assert one.is_as_compiled


def test_longer_and_deeper_than_proven_is_refused() -> None:
    model = realistic(positions=4, layers=2, noise=1e-3, rotation=0)
    assert model.layout.basis.layers >= 2
    with pytest.raises(es.ProgramError, match="more positions, or proven=False"):
        model.run(PARITY.encode("10110"))
    short = copy.deepcopy(model)
    short.layout = replace(short.layout, basis=replace(short.layout.basis, layers=2))
    with pytest.raises(es.ProgramError, match="proven right for 2"):
        short.run(PARITY.encode("101"))


def test_superposed_meanings_lose_nothing_as_long_as_states_distinguish_them() -> None:
    """Variables that are always defined add up to 1 each: all but one of these sums are free."""
    model = realistic("dyck", width=60, ramp=0.2)
    entry = zoo.load("dyck")
    overlap = model.basis @ model.basis.T
    assert model.basis.shape == (64, 60)
    assert (overlap - torch.diag(overlap.diagonal())).abs().max() > 0.05
    state = Machine(entry.program).start([entry.encode("(())")])
    held = model.layout.read(encode(model.layout, state.columns))
    assert (held - es.compiler.encode_meanings(model.layout, state.columns)).abs().max() < 1e-5


def test_distractors_are_active_and_never_read() -> None:
    model, clean = realistic(distractors=3), realistic()
    own = model.layout.own
    for matrix in (model.weights.feedforward.w1, model.weights.unembedding):
        rows = matrix.rows[torch.isin(matrix.columns, torch.tensor(list(own)))]
        assert all("distractor" in model.unit_labels[row] for row in rows.tolist())
    tokens = torch.tensor(INPUTS[-1:])
    z, valid = model.encoder.embed(tokens), torch.ones(1, tokens.shape[1], dtype=torch.bool)
    amounts = []
    for _ in range(30):
        attended = z + model.encoder.attention(z, valid)
        z = attended + model.encoder.mlp(attended)
        amounts.append(z[0, :, list(own)])
    assert torch.stack(amounts).amax() == 1
    assert torch.stack(amounts).amin() == 0
    assert torch.equal(model(tokens), clean(tokens))


def test_noise_is_a_share_of_each_matrix_and_seeded() -> None:
    one, same, clean = (realistic(noise=x, rotation=1, proven=False) for x in (0.02, 0.02, 1e-12))
    assert one.compiled_digest == same.compiled_digest
    other = realistic(noise=0.02, rotation=1, seed=1, proven=False)
    assert other.compiled_digest != one.compiled_digest
    for noisy, right in (
        (one.weights.feedforward.w1.dense(), clean.weights.feedforward.w1.dense()),
        (one.weights.heads[0].query.dense(), clean.weights.heads[0].query.dense()),
        (one.weights.token_embedding, clean.weights.token_embedding),
    ):
        assert 0.01 < (noisy - right).norm() / right.norm() < 0.03
    assert torch.equal(one.weights.feedforward.b1, clean.weights.feedforward.b1)


def test_the_range_of_errors_over_all_states() -> None:
    """By definition: every state, one by one."""
    layout = es.compiler.lay_out(PARITY.program, realism=es.Realism())
    states = blocks(layout, heads=True)
    matrix = torch.randn(5, layout.width, dtype=torch.float64)
    everything = []
    for rows in itertools.product(*(options for _, options in states)):
        meanings = torch.zeros(layout.width, dtype=torch.float64)
        for (dimensions, _), row in zip(states, rows, strict=True):
            meanings[dimensions] = row
        everything.append(matrix @ meanings)
    low, high = spread(matrix, states)
    assert torch.allclose(low, torch.stack(everything).amin(0))
    assert torch.allclose(high, torch.stack(everything).amax(0))


def test_margins_are_where_outputs_change() -> None:
    found = es.margins(PARITY.program, INPUTS)
    for name in ("sharpness", "ramp", "width", "noise"):
        dial = found[name]
        kind = int if name == "width" else float
        runs = [
            realistic(proven=False, **{name: kind(value)}).run_many(INPUTS, max_layers=9)
            for value in (dial.right, dial.wrong)
        ]
        wanted = [run.outputs for run in es.interpret_many(PARITY.program, INPUTS)]
        right, wrong = ([run.outputs for run in some] for some in runs)
        assert right == wanted
        assert wrong != wanted
        assert "position" in dial.culprit
    assert found["distractors"].right == 16
    assert list(found.to_frame().columns) == ["dial", "right", "wrong", "culprit"]
    assert "sharpness   right to 3" in str(found)
    assert "culprit" in found.to_html()


@pytest.mark.parametrize(
    "dials", [{"rotation": 1, "distractors": 2}, {"width": 8, "ramp": 0.2}, {"noise": 1e-4}]
)
def test_interventions_caches_and_explanations_by_directions(dials) -> None:
    model = realistic(**dials)
    for one in (
        Set("parity", layer=1, position=1, value=0),
        Set("parity", layer=1, position=1, value=None),
        KnockOut(rule=0),
        Cut("parity_left", layer=1, query=1, key=0),
    ):
        found = es.verify(PARITY.program, INPUTS[2:], model=model, interventions=[one])
        assert found.ok, found.disagreements[:2]
    held = model.run(INPUTS[-1], cache=True).cache.variable("parity")
    assert (
        held.tolist() == es.interpret(PARITY.program, INPUTS[-1]).cache.variable("parity").tolist()
    )


def test_a_realistic_decoder_writes_what_a_clean_one_does() -> None:
    entry = zoo.load("parity-scratchpad")
    model = realistic(entry.name, rotation=1, distractors=1, sharpness=40)
    for bits in ("1011", "0"):
        written = [
            es.generate(one, entry.encode(bits), max_tokens=9, stop=entry.writing.stop).tokens
            for one in (entry.program, model)
        ]
        assert written[0] == written[1]


def test_the_example_of_the_page_runs_as_printed() -> None:
    page = (Path(__file__).parents[2] / "docs" / "realism.md").read_text(encoding="utf-8")
    exec(re.search(r"```python\n(.*?)```", page, re.S)[1], {})


def test_the_picture_of_the_mlp_is_by_meanings() -> None:
    from espalier.show.figures import draw_weights

    turned, clean = draw_weights(realistic(rotation=1, width=12)), draw_weights(realistic())
    texts = [{t.get_text() for t in figure.axes[0].texts} for figure in (turned, clean)]
    assert texts[0] == texts[1] == {"1", "2"}


def test_a_damaged_basis_is_refused(tmp_path) -> None:
    from safetensors.torch import load_file, save_file

    file = tmp_path / "model.safetensors"
    realistic(rotation=0).save(file)
    tensors = load_file(file)
    del tensors["basis.readout"]
    with safe_open(file, framework="pt") as opened:
        save_file(tensors, file, opened.metadata())
    with pytest.raises(es.FileError, match=r"basis\.readout"):
        es.load(file)
