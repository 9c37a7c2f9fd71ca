// Programs: type an input, step through its trace, ask why, set a value, look at the weights.
import { cellPanel } from "./cell.js";
import { isTyping, labelled, make, oneAtATime, plural, select } from "./dom.js";
import { grid } from "./grid.js";
import { attentionModel, firstWritten, residualModel, symbolsModel, tally } from "./models.js";
import { player } from "./player.js";
import { rulesPanel } from "./rules.js";
import { espalierHistory } from "./history.js";

const MODES = { symbols: "Symbols", weights: "Weights", residual: "Residual stream", attention: "Attention", rules: "Rules" };

// The values that were set, as an address holds them: variable@step,position=code.
const writeSets = (sets) => sets.map((one) => `${one.variable}@${one.step},${one.position}=${one.value}`).join(";");
const readSets = (text) => (text ?? "").split(";").map((one) => one.match(/^(.+)@(\d+),(\d+)=(null|-?[\d.e+-]+)$/))
  .filter(Boolean).map(([, variable, step, position, value]) =>
    ({ variable, step: Number(step), position: Number(position), value: value === "null" ? null : Number(value) }));

export function programsView({ ask, state, update, say, live }) {
  let [about, run, weights, past, fed] = [null, null, null, null, new Map()];
  let mode = state.get("mode") in MODES ? state.get("mode") : "symbols";
  let sets = readSets(state.get("sets"));
  let [asking, newest, head] = [0, 0, null];
  const [weigh, look] = [oneAtATime(), oneAtATime()]; // of the weights, and of their stream and heads
  const chooser = make("select", { "aria-label": "Program", onchange: () => choose(chooser.value) });
  const input = make("input", { type: "text", "aria-label": "Input", spellcheck: "false", autocomplete: "off", maxlength: "2000" });
  const form = make("form", { class: "ask", onsubmit: (event) => { event.preventDefault(); sets = []; go({ step: 0, cell: "" }); } },
    labelled("program", chooser), labelled("input", input), make("button", { type: "submit", disabled: !live }, "Run"));
  const summary = make("p", { class: "quiet" });
  const answer = make("div", { class: "answer", "aria-live": "polite" });
  const changes = make("div", { class: "sets" });
  const modes = make("div", { class: "modes", role: "group", "aria-label": "What is shown" },
    Object.entries(MODES).map(([name, title]) => make("button", { type: "button", "data-mode": name,
      onclick: () => { mode = name; update({ mode: name === "symbols" ? "" : name }); show(); compare(); } }, title)));
  const heads = make("span", { class: "heads" });
  const stepper = player({ onstep: (step) => { update({ step }); show(); } });
  const table = grid({
    onpoint: (row, column) => point(row, column),
    onchoose: (row, column) => explain(row, column),
    onkey: (event) => keys(event, { ",": -1, ".": 1 }),
  });
  const note = make("p", { class: "quiet legend" });
  const rules = rulesPanel({ ask: (query) => ask("rules", { ...asked(), query }) });
  const panel = cellPanel({
    onset: (one) => { sets = [...sets.filter((other) => placeOf(other) !== placeOf(one)), one]; go({}); },
    onvisit: ([step, variable, position]) => visit(step, variable, position),
  });
  const element = make("section", { class: "programs" }, form, summary, answer, changes,
    make("div", { class: "bar" }, modes, heads), stepper.element,
    make("div", { class: "columns" }, make("div", { class: "stage" }, table.element, rules.element, note), panel.element));
  const placeOf = (one) => `${one.variable} ${one.step} ${one.position}`;
  const asked = () => ({ program: state.get("program"), input: state.get("input") ?? "", sets });

  async function open() {
    const known = await ask("programs");
    if (known.error) return say(known.error);
    chooser.replaceChildren(...known.programs.map(({ name, summary: does }) =>
      make("option", { value: name, title: does }, name)));
    document.addEventListener("keydown", globalKeys);
    const names = known.programs.map((one) => one.name);
    await choose(names.includes(state.get("program")) ? state.get("program") : names[0], state.get("input"));
  }

  async function choose(name, text = null) {
    const found = await ask("program", { program: name });
    if (found.error) return say(found.error);
    about = found;
    chooser.value = name;
    summary.textContent = `${about.summary}. ${plural(about.variables.length, "variable")}, ` +
      `${plural(about.heads.length, "head")}, ${about.rules === null ? "more rules than can be listed" : plural(about.rules, "rule")}` +
      `${about.resets ? ` (${plural(about.resets, "reset")})` : ""}` +
      `${about.halts ? `; halts when ${about.halts} everywhere` : ""}.`;
    if (text === null) sets = [];
    input.value = text ?? about.example;
    head = about.heads[0]?.name ?? null;
    heads.replaceChildren(about.heads.length
      ? labelled("head", select(about.heads.map((one) => [one.name, `${one.name}: ${one.text}`]), head, (chosen) => { head = chosen; show(); })) : "");
    update({ program: name });
    return go(text === null ? { step: 0, cell: "" } : {});
  }

  // Runs what is asked for on symbols, and then through the weights.
  async function go(changed) {
    update({ input: input.value, sets: writeSets(sets), ...changed });
    const turn = ++asking;
    const before = run && !run.error && sets.length ? run : null;
    answer.replaceChildren(make("span", { class: "quiet" }, "running …"));
    const found = await ask("trace", asked());
    if (turn !== asking) return;
    [run, weights, fed] = [found, null, new Map()];
    changes.replaceChildren(...sets.map((one) => make("button", { type: "button", class: "chip", title: "Take this back",
      onclick: () => { sets = sets.filter((other) => other !== one); go({}); } },
    `${one.variable} = ${valueOf(one)} at ${one.position}, step ${one.step} ×`)));
    if (run.error) {
      panel.clear();
      stepper.pause();
      table.show({ rows: 0, columns: 0, widest: 3, named: 6, label: "no trace" });
      return answer.replaceChildren(make("p", { class: "error", role: "alert" }, run.error));
    }
    past = run.data.interventions ? null : espalierHistory(run.data);
    tell(before);
    const step = Math.min(Number(state.get("step")) || 0, run.data.steps.length - 1);
    stepper.set(run.data.steps.length, tally(run.data), step, "");
    table.point(null);
    table.link([]);
    panel.clear();
    const cell = (state.get("cell") ?? "").match(/^(\d+),(\d+)$/)?.slice(1).map(Number);
    show();
    if (cell && cell[0] < run.data.names.length && cell[1] < run.data.tokens.length) await explain(...cell);
    const other = await weigh(() => ask("weights", asked()));
    if (turn !== asking || other === null) return;
    weights = other;
    tell(before);
    if (mode === "weights") show();
    compare();
  }

  // Compares every value of a long run, when the reader looks at its weights.
  async function compare() {
    if (mode !== "weights" || weights?.differences !== null) return;
    const turn = asking;
    say("Comparing every value of a long run …");
    const found = await weigh(() => ask("weights", { ...asked(), thorough: true }));
    if (turn !== asking || found === null) return;
    weights = found;
    say("");
    tell(null);
    show();
  }

  const valueOf = (one) => one.value === null ? "∅"
    : [...about.variables, ...about.heads].find((other) => other.name === one.variable)?.choices?.[one.value] ?? one.value;

  // Both machines' answers, and whether they are as expected.
  function tell(before) {
    const right = run.expected === null ? "" : run.answer === run.expected ? "as expected" : `${run.expected} was expected`;
    const machine = (name, text, more) => make("span", { class: "machine" }, make("small", {}, name), make("b", {}, text), make("small", {}, more));
    const line = [machine("symbols", run.answer, [run.ending, sets.length ? "" : right].filter(Boolean).join(", "))];
    if (before && before.answer !== run.answer) line.unshift(machine("before", before.answer, ""));
    if (weights?.error) line.push(machine("weights", "–", weights.error));
    else if (weights) {
      const same = weights.answer === run.answer && run.answer.length > 30;
      line.push(machine("weights", same ? "the same" : weights.answer, `${plural(weights.layers, "layer")}, ` +
        `${weights.differences === null ? "values are compared when you choose Weights" : weights.differences ? `${plural(weights.differences, "value")} differ` : "every value agrees"}; ` +
        `width ${weights.model.width}, ${plural(weights.model.units, "MLP unit")}${weights.model.edited ? ", edited" : ""}`));
    } else line.push(machine("weights", "…", "compiling and running"));
    if (run.idle.length) line.push(machine("touched nothing", run.idle.join("; "), ""));
    answer.replaceChildren(...line);
  }

  async function show() {
    modes.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", one.dataset.mode === mode));
    heads.hidden = mode !== "attention";
    rules.element.hidden = mode !== "rules";
    table.element.hidden = mode === "rules";
    stepper.element.hidden = mode === "rules";
    panel.element.hidden = mode !== "symbols" && mode !== "weights";
    panel.element.parentElement?.classList.toggle("alone", panel.element.hidden);
    note.textContent = "";
    if (!run || run.error) return;
    const step = run.data.steps[stepper.at];
    stepper.titled(`${step.title} · step ${stepper.at + 1} of ${run.data.steps.length}`);
    if (mode === "rules") return rules.show(state.get("query") ?? "");
    if (mode === "symbols" || mode === "weights") {
      table.show(symbolsModel(run.data, stepper.at, mode === "weights" ? weights : null));
      const away = fed.size ? null : firstWritten(run.data, stepper.at, table.columns);
      if (away) table.reveal(table.at ? table.at[0] : away[0], away[1]);
      mark();
      note.textContent = legend();
      return;
    }
    table.link([]);
    const turn = ++newest;
    const layer = Math.max(1, (step.place + 1) >> 1);
    const found = mode === "residual" ? await look(() => ask("residual", { ...asked(), step: step.place }))
      : head === null ? { error: "this program has no heads" } : await look(() => ask("attention", { ...asked(), head, layer }));
    if (turn !== newest || found === null) return;
    if (found.error) note.textContent = found.error;
    else table.show(mode === "residual" ? residualModel(found, run.data) : attentionModel(found, run.data));
    if (!found.error) {
      note.textContent = mode === "residual"
        ? `${found.labels.length} of ${found.width} dimensions are not 0 at this step${found.left ? `; ${found.left} more are not shown` : ""}. Blue: above 0, orange: below.`
        : `Layer ${layer}. Rows are queries, columns are keys; ${found.text}. Symbols and weights ${JSON.stringify(found.symbols) === JSON.stringify(found.weights) ? "select the same" : "differ where framed"}.`;
    }
  }

  function legend() {
    const parts = ["Blue and bold: changed in this step. Red frame: the output. ∅: null; a code is in the tooltip."];
    if (mode === "weights") parts.unshift(weights === null ? "The weights are still running." : "Decoded from the residual stream of the compiled weights; striped: not as on symbols.");
    if (run.data.omitted) parts.push(`A long trace: ${run.data.omitted} layers of its middle are left out.`);
    return parts.join(" ");
  }

  // What happened to a cell, in words.
  function point(row, column) {
    if (mode !== "symbols" && mode !== "weights") return;
    panel.point(run.data, past, { step: stepper.at, variable: row, position: column }, [...about.variables, ...about.heads]);
  }

  // Where a cell came from: marked, with arrows, in words and as a drawing.
  async function explain(row, column) {
    if (mode !== "symbols" && mode !== "weights") return;
    table.point(row, column);
    table.reveal(row, column);
    update({ cell: `${row},${column}` });
    point(row, column);
    fed = past ? past.cells([stepper.at, row, column]) : new Map();
    show();
    panel.draw(past, [stepper.at, row, column]);
    if (sets.length) return panel.why({ error: "Why is answered for the program's own run only: undo what was set, then ask." });
    const place = run.data.steps[stepper.at].place;
    panel.why(await ask("why", { ...asked(), step: place, variable: run.data.names[row], position: column }));
  }

  function mark() {
    const links = [];
    for (const node of fed.get(stepper.at) ?? []) {
      for (const [source, kind] of past.sources(node) ?? []) {
        if (kind !== "kept") links.push([source[1], source[2], node[1], node[2], kind]);
      }
    }
    table.link(links, [...fed.get(stepper.at) ?? []].map(([, variable, position]) => `${variable} ${position}`));
  }

  function visit(step, variable, position) {
    mode = "symbols";
    stepper.go(step);
    table.point(variable, position);
    table.reveal(variable, position);
    show();
    point(variable, position);
    table.element.focus();
  }

  function keys(event, steps) {
    if (steps[event.key]) stepper.move(steps[event.key]);
    else if (event.key === "Escape") {
      fed = new Map();
      panel.clear();
      update({ cell: "" });
      show();
    } else return false;
    return true;
  }
  const globalKeys = (event) => {
    if (isTyping(event) || event.target.closest?.(".grid, .espalier-history")) return;
    if (event.key === " " && !event.target.closest?.("button")) stepper.play();
    else if (!keys(event, { ArrowLeft: -1, ArrowRight: 1 })) return;
    event.preventDefault();
  };
  return {
    element,
    open,
    close() {
      stepper.pause();
      document.removeEventListener("keydown", globalKeys);
    },
    file: () => (run && !run.error ? { view: "trace", ...asked() } : null),
    complete: () => ask("rules", { ...asked(), query: "" }),
  };
}
