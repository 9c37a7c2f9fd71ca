"""Every network that espalier writes, and folders of transformers, through the same commands."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

import espalier as es
from any_networks import gpt2_folder
from commands.test_syntax_commands import CONLLU, run
from espalier.data import ParityConfig
from espalier.decomposition import Asked, Occlusion, parse_rules, word_pairs
from espalier.errors import ConfigError, DataError, FileError, ModelError
from espalier.loading import load_network
from espalier.nets.language import language_model
from espalier.nets.lstm import save_language_model
from espalier.nets.transformer import TransformerShape
from espalier.syntax import read_treebank
from espalier.training import StepRecipe
from lstm_models import WORDS

RULES = ["activation=shapley", "attention=relevant-only", "gates=murdoch"]
SENTENCE = "the cat sat on the mat"


@pytest.fixture
def socrates(tmp_path):
    (tmp_path / "socrates.conllu").write_text(CONLLU)
    return tmp_path / "socrates.conllu"


@pytest.fixture(params=["lstm", "gru", "transformer", "gpt2"])
def model(request, tmp_path):
    if request.param == "gpt2":
        return gpt2_folder(tmp_path / "gpt2")
    sizes = {"vocabulary_size": 8, "hidden": 6, "layers": 2, "words": WORDS, "seed": 3}
    more = {"heads": 2} if request.param == "transformer" else {}
    path = tmp_path / "model.safetensors"
    save_language_model(language_model(architecture=request.param, **sizes, **more), path)
    return path


def test_decompose_by_layer_space_method_and_rules(model, capsys):
    net = load_network(model)
    for words, asked in (
        ([], {}),
        (["--layer", "1"], {"layer": 1}),
        (["--space", "logits"], {"space": "logits"}),
        (["--method", "occlusion"], {"method": "occlusion"}),
        (["--method", "occlusion", "--token", "2"], {"method": Occlusion(2)}),
        (["--method", "gradient-input", "--layer", "0"], {"method": "gradient-input", "layer": 0}),
        (["--rules", *RULES], {"method": parse_rules(RULES)}),
    ):  # fmt: skip
        run("decompose", "-m", model, SENTENCE, "--focus", "cat", "0", *words)
        said, wanted = (
            capsys.readouterr().out,
            es.decompose(net, SENTENCE, focus=["cat", 0], **asked),
        )
        assert said.startswith(str(wanted))
        assert ("predicted by the focus alone" in said) == ("layer" not in asked)


def test_interdependence_and_its_files(model, tmp_path, capsys):
    net = load_network(model)
    run("interdependence", "-m", model, SENTENCE, "--layer", "1", "--method", "perturbed-masking")
    wanted = es.interdependence(net, SENTENCE, layer=1, method="perturbed-masking")
    assert capsys.readouterr().out.rstrip() == str(wanted)
    run("interdependence", "-m", model, SENTENCE, "--a", "cat", "--b", "mat", "--space", "logits")
    one = es.interdependence(net, SENTENCE, a=["cat"], b=["mat"], space="logits")
    assert capsys.readouterr().out.strip() == str(one)
    run("interdependence", "-m", model, SENTENCE, "--html", tmp_path / "page.html")
    assert "mat" in (tmp_path / "page.html").read_text()


def test_pairs_and_probe_of_a_treebank(model, socrates, tmp_path, capsys):
    run("pairs", "-m", model, "-t", socrates, "-o", tmp_path / "p.parquet", "--layer", "1")
    rows = pd.read_parquet(tmp_path / "p.parquet")
    scores, surprisal = read_treebank(load_network(model), es.treebank(socrates), asked=Asked(1))
    np.testing.assert_allclose(rows["di_hidden"], scores.hidden)
    np.testing.assert_allclose(rows["right_surprisal"][:5], surprisal[1:], rtol=1e-6)
    assert rows["left_surprisal"][:5].isna().all()
    run("probe", "-m", model, "-t", socrates)
    assert (
        len(re.findall(r"(?m)^(un)?trained .* (noncrossing|spanning) ", capsys.readouterr().out))
        == 16
    )


def test_words_of_several_tokens_are_sets(tmp_path, socrates):
    net = es.load(gpt2_folder(tmp_path / "gpt2"))
    words = es.treebank(socrates)[0].words
    tokens = net.read(" ".join(words))
    assert len(tokens) > len(words)
    scores, surprisal = read_treebank(net, es.treebank(socrates))
    left, right = np.triu_indices(len(words), 1)
    ends = np.cumsum([len(word) + 1 for word in words])
    for number, (l, r) in enumerate(zip(left, right, strict=True)):
        sets = [(max(0, int(ends[n]) - len(words[n]) - 2), int(ends[n] - 1)) for n in (l, r)]
        wanted = es.interdependence(net, " ".join(words), a=[sets[0]], b=[sets[1]])
        assert scores.hidden[number] == pytest.approx(float(wanted), rel=1e-3)
    logits = es.decompose(net, tokens.ids, focus=[0], space="logits").hidden.double()
    lost = -logits.log_softmax(-1)[range(len(tokens) - 1), list(tokens.ids[1:])]
    first = sum(stop <= ends[0] for _, stop in tokens.spans)
    assert np.nansum(surprisal) == pytest.approx(float(lost[first - 1 :].sum()), rel=1e-4)
    with pytest.raises(ConfigError, match="Occlusion is of single tokens"):
        word_pairs(net, [(tokens, [(0, 1), (2,)])], asked=Asked(method=Occlusion()))


def test_a_compiled_program_is_as_deep_as_its_run(tmp_path, socrates, capsys):
    made = es.compile_program(es.zoo.load("parity-sequential-relative").program)
    made.save(tmp_path / "parity.safetensors")
    run("decompose", "-m", tmp_path / "parity.safetensors", "2 1 0 1", "--focus", "1")
    said = capsys.readouterr().out
    net = es.network(made.fixed_depth(made.run([2, 1, 0, 1]).layers))
    assert said.rstrip() == str(es.decompose(net, [2, 1, 0, 1], focus=[1]))
    run("interdependence", "-m", tmp_path / "parity.safetensors", "2 1 0 1", "--depth", "2")
    wanted = es.interdependence(es.network(made.fixed_depth(2)), [2, 1, 0, 1])
    assert capsys.readouterr().out.rstrip() == str(wanted)
    with pytest.raises(ModelError, match="is a compiled program, which reads no treebank's words"):
        run("probe", "-m", tmp_path / "parity.safetensors", "-t", socrates)


def test_a_transformer_trained_here(tmp_path, capsys, socrates):
    shape = TransformerShape(3, 2, width=8, hidden=8, heads=2, head_width=4, layers=1)
    recipe = StepRecipe(8, 8, 1e-2, measures=2, precision="float32")
    config = es.ParityRun(shape, ParityConfig(3, 4), ParityConfig(6, 4, seed=1), recipe)
    trained = es.train(config, out=tmp_path / "run", device="cpu")
    run("decompose", "-m", tmp_path / "run", "2 1 0 1", "--focus", "1", "--method", "alti")
    net = es.network(trained.models[0])
    wanted = es.decompose(net, [2, 1, 0, 1], focus=[1], method="alti")
    assert capsys.readouterr().out.rstrip() == str(wanted)
    with pytest.raises(ModelError, match="has no tokenizer: it reads numbers, not a treebank's"):
        run("pairs", "-m", tmp_path / "run", "-t", socrates, "-o", tmp_path / "p.parquet")
    with pytest.raises(FileError, match="holds 1 models, none is 'other'"):
        run("decompose", "-m", tmp_path / "run", "2 1", "--focus", "1", "--member", "other")


def test_refusals_name_what_cannot_be(model, tmp_path):
    def asked(*words):
        return run("decompose", "-m", model, "the cat", "--focus", "0", *words)

    with pytest.raises(ConfigError, match="there is no method 'occlussion'; did you mean 'occl"):
        asked("--method", "occlussion")
    with pytest.raises(ConfigError, match="has no rule 'linear'; did you mean 'linearised'"):
        asked("--rules", "attention=linear")
    with pytest.raises(ConfigError, match="--rules has 'attention'"):
        asked("--rules", "attention")
    with pytest.raises(ConfigError, match="takes no word away"):
        asked("--method", "alti", "--token", "1")
    with pytest.raises(ConfigError, match="--rules are a method"):
        asked("--method", "cd-t", "--rules", "gates=papers")
    with pytest.raises(ConfigError, match="--depth is that of a compiled program"):
        asked("--depth", "2")
    with pytest.raises(ConfigError, match="layer is 7"):
        asked("--layer", "7")
    with pytest.raises(DataError, match="focus names 'dog'"):
        run("decompose", "-m", model, "the cat", "--focus", "dog")


def test_folders_that_are_no_models(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    pytest.importorskip("transformers")
    with pytest.raises(FileError, match="is no model that transformers loads"):
        es.load(tmp_path)
    folder = gpt2_folder(tmp_path / "gpt2", tokenizer=False)
    net = es.load(folder)
    assert es.decompose(net, [1, 2, 3], focus=[1]).error < 1e-5
    with pytest.raises(DataError, match="was given no tokenizer"):
        es.decompose(net, "the cat", focus=[1])
    (folder / "model.safetensors").write_bytes(b"\0" * 100)
    with pytest.raises(FileError, match="is no model that transformers loads"):
        es.load(folder)


def test_fresh_weights_are_drawn_by_their_seed(tmp_path):
    from espalier.networks import load_pretrained

    folder = gpt2_folder(tmp_path / "gpt2")
    before = torch.random.get_rng_state()
    one, two, other = (load_pretrained(folder, fresh=seed) for seed in (1, 1, 2))
    assert torch.equal(one.head[0].weight, two.head[0].weight)
    assert not torch.equal(one.head[0].weight, other.head[0].weight)
    assert torch.equal(before, torch.random.get_rng_state())
