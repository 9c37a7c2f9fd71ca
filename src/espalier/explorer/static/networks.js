// Networks: a sentence's interdependence as arcs and matrix, two words taken apart, side by side.
import { arcs } from "./arcs.js";
import { keepFocus, labelled, make, number, oneAtATime, select, tint } from "./dom.js";
import { grid } from "./grid.js";

const FIRST = "the city of London is the capital of England";

export function networksView({ ask, state, update, say, live }) {
  const stage = make("div", { class: "panels" });
  const compare = make("button", { type: "button", "aria-pressed": "false", onclick: () => toggle() }, "Side by side");
  const element = make("section", { class: "networks" }, make("div", { class: "bar" },
    make("p", { class: "quiet" }, "How far two words cannot be told apart in what a network makes of them: the interdependence of every pair."), compare), stage);
  let [known, panels] = [null, []];

  async function open() {
    known = await ask("models");
    if (known.error) return say(known.error);
    compare.hidden = !live && !state.get("sentence2");
    return draw(state.has("sentence2"));
  }
  function toggle() {
    const two = panels.length < 2;
    if (!two) update({ sentence2: "", model2: "", checkpoint2: "", pair2: "" });
    return draw(two);
  }
  function draw(two) {
    compare.setAttribute("aria-pressed", two);
    panels = (two ? ["", "2"] : [""]).map((ending) => panel({ ask, state, update, known, live, ending }));
    stage.replaceChildren(...panels.map((one) => one.element));
    stage.classList.toggle("two", two);
    return Promise.all(panels.map((one) => one.go()));
  }
  return { element, open, file: () => panels[0]?.file() };
}

// One sentence in one model. `ending` separates the state of two panels.
function panel({ ask, state, update, known, live, ending }) {
  const own = (name) => state.get(name + ending);
  let [found, turn, chosen] = [null, 0, []];
  const [read, takeApart] = [oneAtATime(), oneAtATime()];
  let model = known.models.find((one) => one.name === own("model")) ?? known.models[0];
  const sentence = make("input", { type: "text", "aria-label": "Sentence", maxlength: "600", list: `parsed${ending}`,
    value: own("sentence") ?? state.get("sentence") ?? known.sentences[0] ?? FIRST });
  const choice = (name, label, options, first) => {
    const control = select(options, own(name) ?? state.get(name) ?? first, (value) => { update({ [name + ending]: value }); go(); });
    control.setAttribute("aria-label", label);
    return control;
  };
  const models = select(known.models.map((one) => [one.name, one.name]), model.name, (value) => {
    model = known.models.find((one) => one.name === value);
    update({ [`model${ending}`]: value, [`checkpoint${ending}`]: "" });
    build();
    go();
  });
  models.setAttribute("aria-label", "Model");
  const method = choice("method", "Method", known.methods, "papers");
  const space = choice("space", "Space", [["hidden", "hidden states"], ["logits", "logits"]], "hidden");
  const layer = make("select", { "aria-label": "Layer", onchange: () => { update({ [`layer${ending}`]: layer.value }); go(); } }, make("option", { value: "-1" }, "last"));
  const sliding = make("div", { class: "checkpoints" });
  const form = make("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); chosen = []; go(); } },
    labelled("sentence", sentence), make("datalist", { id: `parsed${ending}` }, known.sentences.map((text) => make("option", { value: text }))),
    labelled("model", models), labelled("method", method), labelled("space", space), labelled("layer", layer),
    make("button", { type: "submit", disabled: !live }, "Show"));
  const note = make("div", { class: "note", "aria-live": "polite" });
  const picture = make("div", { class: "arcs", tabindex: "0", role: "region", "aria-label": "Strongest pairs as arcs" });
  const many = make("input", { type: "range", min: "0", "aria-label": "Strongest pairs", oninput: () => paint() });
  const table = grid({ onchoose: (row, column) => row < column && pick(row, column) });
  const apart = make("div", { class: "apart", "aria-live": "polite" });
  const legend = make("div", { class: "scale quiet" });
  const below = make("div", { class: "columns" }, make("div", { class: "stage" }, labelled("strongest pairs", many), picture, table.element, legend),
    make("aside", { class: "cell", "aria-label": "Two words" }, apart));
  const element = make("div", { class: "panel" }, form, sliding, note, below);

  // Logits are those of the last layer.
  const asked = () => ({ model: model.name, checkpoint: checkpoint(), sentence: sentence.value, method: method.value, space: space.value,
    layer: space.value === "logits" ? -1 : Number(layer.value) });
  const checkpoint = () => { const slider = sliding.querySelector("input"); return slider ? model.checkpoints[Number(slider.value)] : ""; };

  // A slider over the checkpoints of a run.
  function build() {
    sliding.replaceChildren();
    if (!model.checkpoints.length) return;
    const at = Math.max(0, model.checkpoints.indexOf(own("checkpoint")));
    const name = make("output", {}, model.checkpoints[own("checkpoint") ? at : model.checkpoints.length - 1]);
    const slider = make("input", { type: "range", min: "0", max: model.checkpoints.length - 1, "aria-label": "Checkpoint",
      oninput: () => { name.textContent = checkpoint(); },
      onchange: () => { update({ [`checkpoint${ending}`]: checkpoint() }); go(); } });
    slider.value = own("checkpoint") ? at : model.checkpoints.length - 1;
    sliding.append(labelled("checkpoint", slider), name);
  }

  async function go() {
    const mine = ++turn;
    layer.disabled = space.value === "logits";
    update({ [`sentence${ending}`]: sentence.value });
    note.replaceChildren("reading …");
    const answer = await read(() => ask("sentence", asked()));
    if (mine !== turn || answer === null) return;
    found = answer;
    below.hidden = Boolean(found.error);
    if (found.error) {
      note.replaceChildren(make("p", { class: "error", role: "alert" }, found.error));
      return;
    }
    const layers = [["-1", "last"], ...Array.from({ length: found.layers + 1 }, (_, n) => [String(n), n ? `${n}` : "0, what enters"])];
    if (layer.options.length !== layers.length) {
      const kept = own("layer") ?? layer.value;
      layer.replaceChildren(...layers.map(([value, text]) => make("option", { value }, text)));
      layer.value = layers.some(([value]) => value === kept) ? kept : "-1";
    }
    const unknown = found.unknown.map((place) => found.words[place]);
    note.replaceChildren(make("p", { class: "quiet" }, `${found.method}${found.undefined ? `, undefined for ${found.undefined} pairs` : ""}${unknown.length ? `; unknown to the model, read as <unk>: ${unknown.join(", ")}` : ""}`));
    many.max = (found.words.length * (found.words.length - 1)) / 2;
    many.value = Math.min(many.max, found.words.length - 1);
    paint();
    const pair = (own("pair") ?? "").match(/^(\d+),(\d+)$/)?.slice(1).map(Number);
    if (pair && pair[1] < found.words.length) await pick(...pair);
    else apart.replaceChildren(make("p", { class: "quiet" }, "Choose two words, above or in the matrix, to see what each contributes, what only both do, and what each part alone would predict."));
  }

  function paint() {
    keepFocus(picture, () => picture.replaceChildren(arcs(found, { most: Number(many.value), chosen, onword: word, onpair: pick })));
    const largest = Math.max(1e-9, ...found.values.flat().filter((value) => value !== null));
    table.show({
      rows: found.words.length, columns: found.words.length, widest: Math.max(5, ...found.words.map((one) => Math.min(10, one.length))),
      named: Math.min(16, Math.max(...found.words.map((one) => one.length)) + 1), corner: "", label: "Interdependence of every two words",
      rowName: (row) => found.words[row], columnName: (column) => found.words[column],
      rowKind: (row) => (found.unknown.includes(row) ? "unknown" : ""),
      cell(row, column) {
        const value = found.values[row][column];
        if (row >= column) return { text: "" };
        return { text: number(value), title: `${found.words[row]} ${found.words[column]}: ${value ?? "undefined"}`,
          back: value === null ? "" : tint(value / largest), kind: String(chosen) === String([row, column]) ? "fed" : "" };
      },
    });
    legend.replaceChildren("0 ", make("span", { class: "ramp" }), ` ${number(largest)}`);
  }

  // Two words one after the other are a pair.
  function word(place) {
    if (chosen.length === 1 && chosen[0] !== place) return pick(Math.min(chosen[0], place), Math.max(chosen[0], place));
    chosen = [place];
    return paint();
  }

  async function pick(left, right) {
    chosen = [left, right];
    update({ [`pair${ending}`]: `${left},${right}` });
    paint();
    const pair = await takeApart(() => ask("pair", { ...asked(), a: left, b: right }));
    if (pair === null || String(chosen) !== String([left, right])) return;
    if (pair.error) return apart.replaceChildren(make("p", { class: "quiet" }, pair.error));
    const [a, b] = pair.words;
    const names = { a, b, both: `${a} + ${b}` };
    const rows = [...pair.parts.map((part) => [names[part.name], number(part.norm), part.next]), ["the whole network", "", pair.whole]];
    apart.replaceChildren(make("h2", {}, `${a} – ${b}: ${number(pair.value)}`),
      make("p", { class: "quiet" }, `Read after “${found.words[pair.at]}”. Of ${number(pair.joint)} that both contribute together, ${number(pair.interaction)} is no sum of what each does alone.`),
      make("table", {}, make("thead", {}, make("tr", {}, ["part", "size", "predicts next"].map((text) => make("th", { scope: "col" }, text)))),
        make("tbody", {}, rows.map(([name, size, next]) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, size),
          make("td", {}, next.length ? "" : make("span", { class: "quiet" }, "only the last layer predicts"), next.map(([text, p]) => make("span", { class: "word" }, text, make("small", {}, ` ${p < 0.001 ? p.toExponential(0) : number(p)} `)))))))));
  }
  build();
  return { element, go, file: () => (found && !found.error ? { view: "sentence", ...asked() } : null) };
}
