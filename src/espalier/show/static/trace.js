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
      change. Blue and bold: changed in this step. Red frame: the output. ∅: null.</p>`;
  const $ = (selector) => stepper.querySelector(selector);
  const [slider, chooser, told, region] =
    ["#slider", "#window", ".told", ".espalier-trace"].map($);
  let at = 0; // the step shown
  let start = 0; // the first position drawn
  let cells = []; // cells[variable][position - start]
  let pointed = null; // [variable, position] that `told` speaks of
  let timer = null;

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
  }

  const exactly = (number) => {
    const value = trace.values[number];
    const shown = trace.shown[number];
    return typeof value === "number" && Number(shown) !== value ? `${value}` : shown;
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
        : ["written by the head ", element("code", `${name}: ${trace.heads[variable]}`)];
    }
    let place = 0; // among the changed cells of the row
    for (let p = 0; p < position; p++) place += changed(step, variable, p);
    const rule = trace.rules[step.wrote[variable]?.[place]];
    if (rule === undefined) return ["written by a rule that this page does not hold."];
    return ["written by the rule ", element("code", rule)];
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
  notes.forEach((note) => region.after(element("p", note, "note")));
  build();
  show();
})();
