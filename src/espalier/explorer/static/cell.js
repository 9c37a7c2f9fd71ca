// One value: what wrote it, why, where it came from, and how to set it.
import { make, select } from "./dom.js";
import { changedAt, coded } from "./models.js";

export function cellPanel({ onset, onvisit }) {
  const told = make("div", { class: "told", "aria-live": "polite" });
  const setter = make("form", { class: "setter", hidden: true });
  const why = make("div", { class: "why" });
  const drawing = make("div", { class: "espalier-history", tabindex: "0", role: "region", "aria-label": "Where the value came from", hidden: true });
  const element = make("aside", { class: "cell", "aria-label": "The chosen value" }, told, setter, why, drawing);

  function clear() {
    told.replaceChildren(make("p", { class: "quiet" }, "Choose a value (click, or arrow keys and Enter) to see the rule that wrote it, what that read, back to the tokens, and to set it to something else."));
    setter.hidden = drawing.hidden = true;
    why.replaceChildren();
  }

  // What happened to a cell, in words.
  function point(data, past, { step: at, variable, position }, about) {
    const [step, name] = [data.steps[at], data.names[variable]];
    const code = data.columns[step.now[variable]][position];
    const place = `at position ${position} (${data.tokens[position]})`;
    const lines = [make("h2", {}, `${name} = ${data.shown[code]}`), make("p", { class: "quiet" }, [place, step.title, coded(data, code)].filter(Boolean).join(" · "))];
    if (step.before === null) lines.push(make("p", {}, "This is its first value."));
    else if (!changedAt(data, step, variable, position)) lines.push(make("p", {}, "Unchanged in this step."));
    else {
      const old = data.shown[data.columns[step.before[variable]][position]];
      const rule = past && variable in data.heads === false ? data.rules[past.rule(step, variable, position)] : undefined;
      const author = variable in data.heads
        ? data.values[code] === null ? "cleared, as every head's output is at the end of a layer" : `carried by the head ${name}: ${data.heads[variable].text}`
        : rule ?? "by a rule, or by a value that was set";
      lines.push(make("p", {}, `${old} → ${data.shown[code]}, `, make("code", {}, author)));
    }
    told.replaceChildren(...lines);
    why.replaceChildren();
    drawing.hidden = true;
    build(about.find((one) => one.name === name), { variable: name, step: step.place, position });
  }

  // A control for another value: a list of its names, or a number.
  function build(spec, place) {
    const control = spec?.choices
      ? select([["null", "∅ (null)"], ...spec.choices.map((text, code) => [code, text])], "null", () => {})
      : make("input", { type: "number", step: "any", value: "0", required: true });
    control.setAttribute("aria-label", `Another value of ${place.variable}`);
    if (spec?.choices) control.value = spec.choices.length > 1 ? 1 : 0;
    setter.replaceChildren(make("span", {}, `set ${place.variable} to`), control, make("button", { type: "submit" }, "Set"));
    setter.onsubmit = (event) => {
      event.preventDefault();
      onset({ ...place, value: control.value === "null" ? null : Number(control.value) });
    };
    setter.hidden = false;
  }

  function explain(found) {
    if (found.error) return why.replaceChildren(make("p", { class: "quiet" }, found.error));
    return why.replaceChildren(make("h3", {}, "Why"), make("p", { class: "quiet" }, found.summary),
      make("ol", {}, found.steps.map(({ place, how }) => make("li", {}, make("small", {}, place), how))),
      found.left ? make("p", { class: "quiet" }, `… and ${found.left} more steps`) : "");
  }

  function draw(past, node) {
    drawing.hidden = past === null;
    if (past === null) return;
    const { svg } = past.draw(node, onvisit);
    drawing.replaceChildren(svg);
    const { x, y } = svg.querySelector(".target").getBBox();
    drawing.scrollTo(x - drawing.clientWidth / 2, y - drawing.clientHeight / 2);
  }

  clear();
  return { element, clear, point, why: explain, draw };
}
