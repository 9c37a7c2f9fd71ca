import pytest
import torch
from hypothesis import given, settings

import espalier as es
import reference
from espalier import zoo
from espalier.learnability.readings import UNKNOWN, class_places, readings
from espalier.learnability.supervision import ReadableRun, ReadableSettings, ReadableTransformers
from espalier.learnability.supervision.readable import ReadingTask, shape_for
from espalier.nets.noise import Dice
from espalier.nets.transformer.model import encode, random_transformers
from espalier.nets.transformer.sublayers import norm
from espalier.training import StepRecipe, open_run
from strategies import Case, cases

ENTRY = zoo.load("parity-sequential-relative")
SHORT = ["0", "1", "01", "10", "11", "110", "101"]
SMALL = ReadableSettings(8, 8, 2, 4, StepRecipe(40, 7, 1e-2, "adam", 2, "float32"))


def inputs(texts):
    return [ENTRY.encode(text) for text in texts]


@settings(max_examples=40)
@given(cases(strict=True))
def test_readings_are_the_traces(case: Case) -> None:
    program = case.program
    if case.max_layers == 0:
        return  # refused: there is nothing to read
    found = readings(program, case.batch, max_layers=case.max_layers)
    for row, tokens in enumerate(case.batch):
        run = reference.run_by_definition(program, tokens, max_layers=case.max_layers)
        for name, spec in program.specs.items():
            sides = run.attended if name in program.heads else run.updated
            codes = found.codes[name][row]
            assert (codes[run.layers :] == UNKNOWN).all()
            assert (codes[:, len(tokens) :] == UNKNOWN).all()
            for layer in range(run.layers):
                for place in range(len(tokens)):
                    here = reference.seen_by_rules(program.specs, sides[layer + 1][place])
                    value, code = here[name], int(codes[layer, place])
                    assert (UNKNOWN if value is None else spec.code(value)) == code


def test_the_loss_is_the_mean_over_all_that_is_asked():
    asked = readings(ENTRY.program, inputs(SHORT))
    shape = shape_for(ENTRY.program, SMALL, asked.layers)
    weights = random_transformers(shape, [3])
    task = ReadingTask(shape, asked, 4)
    dice = Dice(torch.tensor([3]), torch.tensor(0))
    chosen = dice.choices(0, 4, torch.tensor([len(SHORT)]))[0].tolist()
    losses, places = [], class_places(ENTRY.program)
    for row in chosen:
        length = int(asked.lengths[row])

        def watch(layer, part, z, row=row, length=length):
            logits = norm(z, weights["encoder.final_scale"])[0, 0] @ weights["unembedding"][0]
            for name, place in places.items():
                if (name in ENTRY.program.heads) == (part == "attention"):
                    for n in range(length):
                        code = int(asked.codes[name][row, layer, n])
                        if code != UNKNOWN:
                            losses.append(-float(logits[n, place].log_softmax(0)[code]))

        tokens = asked.tokens[row, :length].view(1, 1, -1)
        sizes = torch.tensor([[length]])
        encode(weights, shape, tokens, lengths=sizes, layers=asked.layers, watch=watch)
    mean = sum(losses) / len(losses)
    assert float(task.losses(weights, dice)[0]) == pytest.approx(mean, rel=1e-4)


def test_a_run_is_kept_and_its_members_run_as_programs_do(tmp_path):
    run = ReadableRun(ENTRY.program, inputs(SHORT), SMALL, seeds=(0, 1))
    trained = es.train(run, tmp_path / "r", device="cpu")
    found, again = trained.models, es.train(run, tmp_path / "r", device="cpu").models
    kept = open_run(tmp_path / "r", kinds=[ReadableRun], device="cpu")
    assert str(kept).startswith(f"readable, 2 trained for {trained.step} steps, in ")
    assert trained.rows[-1]["read"] > trained.rows[0]["read"]
    batch = inputs(["1", "1101", "10"])
    both = found.run_many(batch, max_layers=6)
    assert kept.models.run_many(batch, max_layers=6) == both
    assert [[len(run.outputs) for run in runs] for runs in both] == [[2, 5, 3]] * 2
    assert again.run_many(batch, max_layers=6) == both
    for member, alone in enumerate(found):
        assert alone.run_many(batch[1:2], max_layers=6)[0][0] == both[member][1]


def test_a_model_stops_where_it_reads_that_all_is_done():
    asked = readings(ENTRY.program, inputs(SHORT))
    shape = shape_for(ENTRY.program, SMALL, asked.layers)
    weights = random_transformers(shape, [0])
    done = class_places(ENTRY.program)["done"]
    weights["unembedding"][:, :, done] = 0  # a tie goes to class 0: never done
    never = ReadableTransformers(ENTRY.program, shape, weights).run_many(
        inputs(["10"]), max_layers=5
    )[0][0]
    assert (never.layers, never.halted) == (5, False)


def test_what_cannot_be_taught_is_refused():
    with pytest.raises(es.ProgramError, match="the training set is empty"):
        es.train(ReadableRun(ENTRY.program, []))
    with pytest.raises(es.DataError, match="the program takes no layer; run it for one at least"):
        es.train(ReadableRun(ENTRY.program, inputs(SHORT), max_layers=0))
    with pytest.raises(es.ConfigError, match=r"seeds are \(\); say how many"):
        ReadableRun(ENTRY.program, inputs(SHORT), seeds=())
