"use strict";
// Draws one sub-layer of the trace at a time, from the JSON that the page holds.
(() => {
  const trace = JSON.parse(document.getElementById("trace").textContent);
  const WINDOW = 250; // positions drawn at once
  const stepper = document.getElementById("stepper");
  stepper.innerHTML = `
    <div class="controls">
      <button id="first" aria-label="First step">«</button>
      <button id="back" aria-label="One step back">‹</button>
      <button id="play">Play</button>
      <button id="next" aria-label="One step on">›</button>
      <button id="last" aria-label="Last step">»</button>
      <input id="slider" type="range" min="0" aria-label="Step">
      <select id="window" aria-label="Positions" hidden></select>
    </div>
    <div class="now" aria-live="polite"><h2></h2><p></p></div>
    <p class="told" aria-live="polite"></p>
    <div class="espalier-trace" tabindex="0" role="region" aria-label="Values at this step">
      <table><thead></thead><tbody></tbody></table></div>
    <p class="note"><kbd>←</kbd> <kbd>→</kbd> step, <kbd>↑</kbd> <kbd>↓</kbd> go from change to
      change, <kbd>Enter</kbd> or a click asks where a value came from, <kbd>Esc</kbd> stops asking.
      Blue and bold: changed in this step. Red frame: the output. ∅: null.</p>
    <section class="why" hidden><h2></h2><p class="quiet"></p>
      <div class="espalier-history" tabindex="0" role="region" aria-label="History"></div></section>`;
  const $ = (selector) => stepper.querySelector(selector);
  const [slider, chooser, told, region] =
    ["#slider", "#window", ".told", ".espalier-trace"].map($);
  let at = 0; // the step shown
  let start = 0; // the first position drawn
  let cells = []; // cells[variable][position - start]
  let pointed = null; // [variable, position] that `told` describes
  let timer = null;
  let asked = null; // [step, variable, position] whose history is shown
  let fed = new Map(); // its cells, by step
  const history = espalierHistory(trace);
  const arrows = region.appendChild(history.shape("svg", { class: "arrows", "aria-hidden": true }));

  const element = (tag, text, className) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const code = (columns, variable, position) => trace.columns[columns[variable]][position];
  const changed = (step, variable, position) =>
    step.before !== null &&
    code(step.now, variable, position) !== code(step.before, variable, position);

  function build() {
    const end = Math.min(start + WINDOW, trace.tokens.length);
    const row = element("tr");
    const corner = element("th");
    corner.append(element("small", "position"), "input");
    row.append(corner);
    for (let position = start; position < end; position++) {
      const header = element("th");
      header.scope = "col";
      header.append(element("small", position), trace.tokens[position]);
      row.append(header);
    }
    $("thead").replaceChildren(row);
    cells = trace.names.map(() => []);
    $("tbody").replaceChildren(...trace.names.map((name, variable) => {
      const kind = variable in trace.heads ? "head" : variable === trace.output ? "output" : "";
      const line = element("tr", undefined, kind);
      const label = element("th", name);
      label.scope = "row";
      line.append(label);
      for (let position = start; position < end; position++) {
        const cell = element("td");
        cell.tabIndex = -1;
        cell.dataset.place = `${variable} ${position}`;
        cells[variable].push(cell);
        line.append(cell);
      }
      return line;
    }));
  }

  function show() {
    const step = trace.steps[at];
    let written = 0;
    let cleared = 0;
    cells.forEach((row, variable) => row.forEach((cell, offset) => {
      const number = code(step.now, variable, start + offset);
      const mark = changed(step, variable, start + offset);
      const empty = trace.values[number] === null;
      written += mark && !empty;
      cleared += mark && empty;
      cell.textContent = trace.shown[number];
      cell.title = coded(number);
      cell.className = (empty ? "null" : "") + (mark ? " changed" : "");
    }));
    $(".now h2").textContent = step.title;
    const steps = `step ${at + 1} of ${trace.steps.length}`;
    const where = trace.tokens.length > WINDOW ? " at these positions" : "";
    const changes = `${written} written${cleared ? `, ${cleared} cleared` : ""}${where}`;
    $(".now p").textContent = step.before === null ? steps : `${changes} · ${steps}`;
    slider.value = at;
    slider.setAttribute("aria-valuetext", step.title);
    $("#first").disabled = $("#back").disabled = at === 0;
    $("#next").disabled = $("#last").disabled = at === trace.steps.length - 1;
    tell();
    mark();
  }

  // The code behind a name, for a tooltip.
  const coded = (number) => {
    const value = trace.values[number];
    const plain = Array.isArray(value) ? `{${value}}` : `${value}`;
    return value === null || trace.shown[number] === plain ? "" : `code ${plain}`;
  };
  const exactly = (number) => {
    const value = trace.values[number];
    const shown = trace.shown[number];
    const rounded = typeof value === "number" && /[.e]/.test(shown) && !Number.isNaN(Number(shown));
    return rounded && Number(shown) !== value ? `${value}` : shown;
  };

  // What happened to the cell that is pointed at, in words.
  function tell() {
    told.classList.toggle("some", pointed !== null);
    if (pointed === null) {
      told.textContent = "Point at a value, or go to it with the keys, to see what wrote it.";
      return;
    }
    const [variable, position] = pointed;
    const step = trace.steps[at];
    const name = trace.names[variable];
    const now = exactly(code(step.now, variable, position));
    const place = ` at position ${position} (${trace.tokens[position]}): `;
    const parts = [element("strong", name), place];
    if (step.before === null) parts.push(`starts as ${now}.`);
    else if (!changed(step, variable, position)) parts.push(`${now}, unchanged.`);
    else {
      const old = exactly(code(step.before, variable, position));
      parts.push(`${old} → ${now}, `, ...author(step, variable, position));
    }
    told.replaceChildren(...parts);
  }

  function author(step, variable, position) {
    const name = trace.names[variable];
    if (variable in trace.heads) {
      const null_ = trace.values[code(step.now, variable, position)] === null;
      return null_
        ? ["cleared, as every head's output is at the end of a layer."]
        : ["written by the head ", element("code", `${name}: ${trace.heads[variable].text}`)];
    }
    const rule = trace.rules[history.rule(step, variable, position)];
    if (rule === undefined) return ["written by a rule that this page does not hold."];
    return ["written by the rule ", element("code", rule)];
  }

  // Asks where a cell came from: its history is drawn, and marked in every step.
  function ask(node) {
    asked = node;
    fed = node === null ? new Map() : history.cells(node);
    const why = $(".why");
    why.hidden = node === null;
    if (node !== null) {
      const [step, variable, position] = node;
      const { svg, left, missing, size } = history.draw(node, visit);
      const value = exactly(code(trace.steps[step].now, variable, position));
      why.querySelector("h2").textContent =
        `Where ${trace.names[variable]} = ${value} at position ${position} came from ` +
        `(${trace.steps[step].title})`;
      why.querySelector("p").textContent =
        `${size} ${size === 1 ? "value" : "values"} that a rule wrote, a head carried or the start ` +
        "gave; black arrows: a rule read it, blue: a head carried it, grey: query or key that " +
        "selected it. Choose one to go there." +
        (left ? ` The ${left} farthest are not drawn.` : "") +
        (missing ? " Some of it lies in what this page leaves out." : "");
      const drawing = $(".espalier-history");
      drawing.replaceChildren(svg);
      const { x, y } = svg.querySelector(".target").getBBox();
      drawing.scrollTo(x - drawing.clientWidth / 2, y - drawing.clientHeight / 2);
      window.history.replaceState(null, "", `#cell=${node.join(",")}`);
    } else window.history.replaceState(null, "", " ");
    mark();
  }

  // Goes to a value of the history.
  function visit([step, variable, position]) {
    if (position < start || position >= start + WINDOW) {
      start = Math.floor(position / WINDOW) * WINDOW;
      chooser.value = start;
      build();
    }
    go(step);
    pointed = [variable, position];
    tell();
    cells[variable][position - start].focus();
  }

  // Marks the cells of the history in this step, with arrows from what they were computed from.
  function mark() {
    const links = [];
    cells.forEach((row) => row.forEach((cell) => cell.classList.remove("fed", "asked")));
    const at_ = ([variable, position]) => cells[variable]?.[position - start];
    for (const node of fed.get(at) ?? []) {
      at_(node.slice(1))?.classList.add(String(node) === String(asked) ? "asked" : "fed");
      for (const [source, kind] of history.sources(node) ?? []) {
        const [from, to] = [at_(source.slice(1)), at_(node.slice(1))];
        if (from && to && kind !== "kept" && from !== to) links.push([from, to, kind]);
      }
    }
    const frame = region.getBoundingClientRect();
    const middle = (cell) => {
      const box = cell.getBoundingClientRect();
      return [box.left + box.width / 2 - frame.left + region.scrollLeft,
        box.top + box.height / 2 - frame.top];
    };
    const table = region.querySelector("table");
    arrows.setAttribute("width", table.offsetWidth);
    arrows.setAttribute("height", links.length ? table.offsetHeight : 0);
    arrows.replaceChildren(...links.map(([from, to, kind]) =>
      history.arrow(middle(from), middle(to), kind)));
  }

  function point(cell) {
    const place = cell && cell.dataset.place;
    if (!place) return;
    pointed = place.split(" ").map(Number);
    tell();
  }

  function go(step) {
    at = Math.max(0, Math.min(step, trace.steps.length - 1));
    show();
    follow();
  }

  // Scrolls to what a rule wrote, where none of it is in sight.
  function follow() {
    const written = [...region.querySelectorAll("tr:not(.head) > td.changed")];
    const left = region.scrollLeft + $("tbody th").offsetWidth;
    const right = region.scrollLeft + region.clientWidth;
    const inside = (cell) =>
      cell.offsetLeft >= left && cell.offsetLeft + cell.offsetWidth <= right;
    if (written.length && !written.some(inside)) {
      region.scrollLeft = written[0].offsetLeft - region.clientWidth / 2;
    }
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    $("#play").textContent = "Play";
  }

  function play() {
    if (timer !== null) return pause();
    if (at === trace.steps.length - 1) go(0);
    $("#play").textContent = "Pause";
    // A short trace slowly, a long one within half a minute or so.
    timer = setInterval(() => {
      go(at + 1);
      if (at === trace.steps.length - 1) pause();
    }, Math.max(80, Math.min(900, 30000 / trace.steps.length)));
  }

  // Up and down: the changed cell before or after the focused one.
  function walk(direction) {
    const all = cells.flat();
    const from = all.indexOf(document.activeElement);
    const marked = (cell) => cell.classList.contains("changed");
    const ahead = direction > 0
      ? all.slice(from + 1).find(marked)
      : all.slice(0, Math.max(from, 0)).findLast(marked);
    if (ahead) ahead.focus();
  }

  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target.matches("input, select")) return;
    const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const across = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (side) {
      pause();
      go(at + side);
    } else if (across && region.contains(event.target)) walk(across);
    else if (event.key === "Escape" && asked) ask(null);
    else if (event.key === "Enter" && event.target.dataset.place) askFor(event.target);
    else return;
    event.preventDefault();
  });
  const moves = {
    first: () => go(0),
    back: () => go(at - 1),
    next: () => go(at + 1),
    last: () => go(trace.steps.length - 1),
  };
  for (const [id, move] of Object.entries(moves)) {
    $(`#${id}`).addEventListener("click", () => { pause(); move(); });
  }
  $("#play").addEventListener("click", play);
  slider.addEventListener("input", () => { pause(); go(Number(slider.value)); });
  chooser.addEventListener("change", () => {
    start = Number(chooser.value);
    pointed = null;
    build();
    show();
  });
  const askFor = (cell) => {
    // Interventions come between a value and what it was computed from.
    if (!trace.interventions) ask([at, ...cell.dataset.place.split(" ").map(Number)]);
  };
  region.addEventListener("click", (event) => {
    const cell = event.target.closest("td");
    if (cell) askFor(cell);
  });
  window.addEventListener("resize", mark);
  region.addEventListener("mouseover", (event) => point(event.target.closest("td")));
  region.addEventListener("focusin", (event) => point(event.target.closest("td")));

  slider.max = trace.steps.length - 1;
  slider.disabled = $("#play").disabled = trace.steps.length === 1;
  chooser.hidden = trace.tokens.length <= WINDOW;
  for (let from = 0; from < trace.tokens.length; from += WINDOW) {
    const to = Math.min(from + WINDOW, trace.tokens.length) - 1;
    chooser.append(new Option(`positions ${from}–${to}`, from));
  }
  const notes = [];
  if (trace.omitted) notes.push(`A long trace: layers left out of its middle: ${trace.omitted}.`);
  if (trace.unexplained) notes.push("So much changes that the rules of some changes are left out.");
  if (trace.interventions) notes.push("Made under interventions: histories are not drawn.");
  notes.forEach((note) => region.after(element("p", note, "note")));
  build();
  show();
  // A link to a cell: #cell=step,variable,position
  const linked = location.hash.match(/^#cell=(\d+),(\d+),(\d+)$/)?.slice(1).map(Number);
  if (linked && !trace.interventions && linked[0] < trace.steps.length && linked[1] < trace.names.length &&
      linked[2] < trace.tokens.length) {
    visit(linked);
    ask(linked);
  }
})();
