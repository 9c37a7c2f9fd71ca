import pytest

import espalier as es


@pytest.fixture(scope="module")
def figure():
    entry = es.zoo.load("addition")
    found = es.interpret(entry.program, entry.encode("34+56")).explain(position=4).plot()
    found.draw_without_rendering()  # lays it out, which an empty canvas does not
    return found


def test_values_are_in_their_column_and_next_to_one_another(figure):
    (panel,) = figure.axes
    boxes = {text: text.get_window_extent() for text in panel.texts if "=" in text.get_text()}
    assert len(boxes) > 20
    assert {text.get_position()[0] for text in boxes} <= {*panel.get_xticks()}
    for one, box in boxes.items():
        assert 0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert not any(box.overlaps(other) for text, other in boxes.items() if text is not one)


def test_letters_are_legible_on_a_page_700_pixels_wide(figure):
    (panel,) = figure.axes
    shown = 700 / (72 * figure.get_size_inches()[0])  # pixels a point
    assert min(text.get_size() for text in panel.texts if text.get_text()) * shown >= 8
