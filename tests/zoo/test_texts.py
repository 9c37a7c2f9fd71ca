"""What a program's file says of texts is what its entry does; answers come from the weights."""

import random

import pytest

import espalier as es
from espalier import zoo
from espalier.commands.programs import run_command
from espalier.data.scan import sample_command
from espalier.errors import FileError, ProgramError
from espalier.language import TextFormat, from_record, program_hash, program_spec, to_record, var
from espalier.programs import ask


def written(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


@pytest.mark.parametrize("name", zoo.names())
def test_texts_are_read_and_answered_as_by_the_entry(name: str) -> None:
    entry = zoo.load(name)
    text = entry.program.text
    assert text is not None
    inputs = entry.samples(60, size=5)
    for given in inputs:
        shown = given if isinstance(given, str) else " ".join(map(str, given))
        assert text.encode(shown) == text.encode(given) == entry.encode(given)
    for answer in ask(entry, inputs[:20]):
        assert text.decode(answer.outputs) == written(answer.value)
    assert (text.max_layers, text.writes) == (entry.max_layers, entry.writing is not None)
    assert from_record(to_record(entry.program)).text == text


def test_what_is_no_text_is_refused_as_by_the_entry() -> None:
    source = random.Random(0)
    for name in ("addition", "scan", "modular", "dyck", "parity-sum-modulo", "sort", "subleq"):
        entry = zoo.load(name)
        symbols = [symbol for symbol in entry.program.text.symbols if symbol]
        for _ in range(60):
            parts = source.choices(
                [*symbols[:12], "jump", "left", "+", "oops"], k=source.randint(0, 5)
            )
            given = ("" if entry.program.text.unit == "characters" else " ").join(parts)
            try:
                expected = entry.encode(given)
            except (es.EspalierError, ValueError):
                with pytest.raises(ProgramError):
                    entry.program.text.encode(given)
            else:
                assert entry.program.text.encode(given) == expected


@pytest.mark.parametrize("outputs", [1, 2, 5, 8, 24, 47])
def test_scan_takes_the_commands_for_which_it_has_room(outputs: int) -> None:
    entry, source = zoo.load("scan", outputs=outputs), random.Random(outputs)
    for _ in range(150):
        command = sample_command(source, source.randint(1, 9))
        try:
            expected = entry.encode(command)
        except ProgramError:
            with pytest.raises(ProgramError, match=f"commands of up to {outputs} actions"):
                entry.program.text.encode(command)
        else:
            assert entry.program.text.encode(command) == expected


def test_a_file_keeps_its_manners(tmp_path) -> None:
    file = tmp_path / "addition.safetensors"
    es.compile_program(zoo.load("addition").program).save(file)
    assert es.load(file).run_text("34+56") == "90"
    with pytest.raises(ProgramError, match=r"as in '34\+56'"):
        es.load(file).run_text("34")


@pytest.mark.parametrize("name", ["parity-scratchpad", "addition-scratchpad", "parity-sum-modulo"])
def test_programs_that_write_or_do_not_halt_answer_texts(name: str) -> None:
    entry = zoo.load(name)
    model = es.compile_program(entry.program)
    for given in entry.samples(4, size=3):
        assert model.run_text(given) == str(entry.expected(given))


def test_the_command_runs_the_weights_and_says_so(tmp_path, capsys) -> None:
    file = tmp_path / "addition.safetensors"
    model = es.compile_program(zoo.load("addition").program)
    model.save(file)
    run_command(str(file), "34+56")
    shown = " ".join(capsys.readouterr().out.split())
    assert "answer 90" in shown
    assert "the weights in" in shown
    assert "edited" not in shown
    model.encoder.unembedding.values.data[:] = 0
    model.save(file)
    run_command(str(file), "34+56")
    shown = " ".join(capsys.readouterr().out.split())
    assert "answer 90" not in shown
    assert "edited since compiled" in shown
    run_command(str(file), "34+56", engine="interpreter")
    shown = " ".join(capsys.readouterr().out.split())
    assert "answer 90" in shown
    assert "not its weights" in shown


def test_weights_are_written_where_they_can_be_loaded(tmp_path) -> None:
    model = es.compile_program(zoo.load("parity-sequential-relative").program)
    with pytest.raises(FileError, match=r"call it .*x\.safetensors"):
        model.save(tmp_path / "x.pt")


def program(text: TextFormat | None):
    first = var(2, input_init_fn=lambda token: token % 2)
    return program_spec({"x": first}, rules=[], output_name="x", input_range=3, text=text)


def test_formats_that_do_not_fit_are_refused() -> None:
    good = {"symbols": ("a", "b"), "answers": ("0", "1")}
    for bad, word in (
        ({"answers": ("0",)}, "1 answers for 2 outputs"),
        ({"symbols": ("a",) * 2}, "same"),
        ({"symbols": tuple("abcd")}, "4 symbols for 3 tokens"),
        ({"before": (3,)}, "token 3"),
        ({"unit": "lines"}, "unit"),
        ({"choose": "best"}, "chooses"),
        ({"pattern": "("}, "pattern"),
    ):
        with pytest.raises(ProgramError, match=word):
            program(TextFormat(**good | bad))
    with pytest.raises(ProgramError, match="run with tokens"):
        es.compile_program(program(None)).run_text("a")
    record = to_record(program(TextFormat(**good)))
    record["text"]["code"] = "print()"
    with pytest.raises(ProgramError, match="no code"):
        from_record(record)


def test_a_text_does_not_change_what_a_program_is() -> None:
    with_text = program(TextFormat(symbols=("a", "b"), answers=("0", "1")))
    assert program_hash(with_text) == program_hash(program(None))
