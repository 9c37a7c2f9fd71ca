"""Whatever is typed into any box of the page: the server has no error, the page keeps working."""

import random

import pytest

from explorer.test_answers import typed

expect = pytest.importorskip("playwright.sync_api", reason="needs playwright").expect

# Types each text and submits it, and continues when the page has answered or refused.
TYPE = """async ([label, texts, busy]) => {
  const find = () => document.querySelector(`[aria-label="${label}"]`);
  const until = async (text, test) => {
    const began = performance.now();
    do {
      await new Promise((done) => setTimeout(done));
      if (performance.now() - began > 300000) throw new Error(`no answer to "${text}"`);
    } while (!test());
  };
  for (const text of texts) {
    await until(text, find);
    const box = find();
    box.value = text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    box.form?.requestSubmit();
    const isBusy = () => document.querySelector(busy)?.textContent.match(/running …|reading …/);
    await until(text, () => !isBusy());
  }
  return texts.length;
}"""
BOXES = {
    "Input": ("view=programs&program=dyck&input=()", ".answer", "()[]"),
    "Search the rules": ("view=programs&program=addition&mode=rules", ".rules p", "NOW = 10/3"),
    "Sentence": ("view=networks&model=run+k4&sentence=1+2+3", ".networks .note", "1 2 3"),
    "Find runs": ("view=runs", ".runs .bar p", "k4"),
}


def opened(visit, address, state, ready):
    visit.goto("about:blank")
    visit.goto(f"{address}#{state}")
    expect(visit.locator(ready).first).not_to_be_empty(timeout=300_000)
    return visit


@pytest.mark.parametrize("label", BOXES)
def test_two_hundred_random_texts(visit, address, label):
    state, ready, sense = BOXES[label]
    opened(visit, address, state, ready)
    expect(visit.locator(ready).first).not_to_contain_text("…", timeout=300_000)
    source = random.Random(label)
    texts = [
        typed(source) if turn % 10 else "".join(source.choices(sense, k=6)) for turn in range(200)
    ]
    assert visit.evaluate(TYPE, [label, [*texts, sense], ready]) == 201
    expect(visit.locator(ready).first).not_to_contain_text("…", timeout=300_000)
    visit.check(address)


def test_two_hundred_numbers_that_a_value_is_set_to(visit, address):
    opened(
        visit,
        address,
        "view=programs&program=parity-sum-modulo&input=101&step=1&cell=4,1",
        ".setter input",
    )
    source = random.Random(0)
    texts = [str(source.choice([source.gauss(0, 1e9), 0, -1, 1e308, 5e-324])) for _ in range(200)]
    label = visit.locator(".setter input").get_attribute("aria-label")
    assert visit.evaluate(TYPE, [label, texts, ".answer"]) == 200
    visit.check(address)
