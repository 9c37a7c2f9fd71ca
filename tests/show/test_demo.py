import re

from espalier import zoo
from espalier.show.demo import PROGRAMS, build_report, check


def test_a_check_counts_what_is_right() -> None:
    result = check(
        zoo.load("parity-sequential-relative"), longest=3, random_inputs=2, random_size=5
    )
    assert result.inputs == 2 + 4 + 8 + 2
    assert result.right_on_symbols == result.right_in_weights == result.inputs
    assert result.disagreements == 0
    assert result.values > 0


def test_the_page_is_filled_in_and_stands_alone(tmp_path) -> None:
    heard = []
    path = tmp_path / "report.html"
    results = build_report(path, longest=2, random_inputs=1, random_size=3, progress=heard.append)
    page = path.read_text()
    assert [result.entry.name for result in results] == list(PROGRAMS)
    assert len(heard) == len(results)
    assert "<!--" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.S)
    assert page.count("<svg") == 2  # the weights, and the sentence with its arcs
    assert "asked → questions: obj" in page
    assert page.count('data-pair="') == 15
    assert "http" not in re.sub(r"<svg.*?</svg>", "", page, flags=re.S)
    for name in PROGRAMS:
        assert f"<h2>{name}</h2>" in page
