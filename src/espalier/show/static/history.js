"use strict";
// Where a value of a trace came from: what each cell was computed from, and a drawing of it all.
// A node is [step, variable, position]; a link is [node, kind].
const espalierHistory = (trace) => {
  const MOST = 300; // values that are drawn
  const drawing = document.createElement("div");
  drawing.innerHTML = "<svg></svg>";
  const SVG = drawing.firstChild.namespaceURI;
  const name = (node) => node.join(" ");
  const code = (columns, variable, position) => trace.columns[columns[variable]][position];
  const value = (columns, variable, position) => trace.values[code(columns, variable, position)];
  const changed = (step, variable, position) =>
    step.before !== null &&
    code(step.now, variable, position) !== code(step.before, variable, position);

  // The number of the rule that wrote a changed cell, if the page holds it.
  function rule(step, variable, position) {
    let place = 0; // among the changed cells of the row
    for (let p = 0; p < position; p++) place += changed(step, variable, p);
    return step.wrote[variable]?.[place];
  }

  // Whether the step before this one in time is on the page.
  const follows = (at) => at > 0 && trace.steps[at].place === trace.steps[at - 1].place + 1;

  const rests = (step, position) =>
    trace.causal && trace.halt !== null && step.place > 2 &&
    value(step.before, trace.halt[0], position) === trace.halt[1];

  // The positions that a head selected.
  function selected(step, head, position) {
    if (rests(step, position)) return [];
    const { query, key, offsets } = head;
    const asks = query === null ? null : value(step.before, query, position);
    return trace.tokens.map((_, place) => place).filter((place) => {
      if (offsets !== null && !offsets.includes(place - position)) return false;
      if (trace.causal && place > position) return false;
      if (query === null) return true;
      const answer = value(step.before, key, place);
      if (asks === null || answer === null) return false;
      return Array.isArray(asks) ? asks.includes(answer) : asks === answer;
    });
  }

  // What a cell was computed from: links into the step before, or null where the page lacks it.
  function sources([at, variable, position]) {
    const step = trace.steps[at];
    if (step.before === null) return [];
    if (!follows(at)) return null;
    const kept = [[[at - 1, variable, position], "kept"]];
    const head = trace.heads[variable];
    if (step.place % 2 === 0) {
      if (head || !changed(step, variable, position)) return kept;
      const number = rule(step, variable, position);
      return trace.reads[number]?.map((read) => [[at - 1, read, position], "read"]) ?? null;
    }
    if (!head) return kept;
    const found = selected(step, head, position);
    const links = found.map((place) => [[at - 1, head.value, place], "carried"]);
    if (head.query === null) return links;
    links.push(...found.map((place) => [[at - 1, head.key, place], "key"]));
    if (found.length) links.push([[at - 1, head.query, position], "query"]);
    return links;
  }

  // Where a value was new: before it was kept.
  function origin(node) {
    for (let links = sources(node); links?.[0]?.[1] === "kept"; links = sources(node)) {
      node = links[0][0];
    }
    return node;
  }

  // All that a cell came from, the nearest first: where each was new, and what it was made of.
  function history(node) {
    const found = new Map();
    const queue = [origin(node)];
    const known = new Set(queue.map(name));
    let missing = false;
    while (queue.length) {
      const next = queue.shift();
      const links = sources(next);
      missing ||= links === null;
      const origins = (links ?? []).map(([source, kind]) => [origin(source), kind]);
      found.set(name(next), { node: next, links: origins });
      for (const [source] of origins) {
        if (!known.has(name(source))) queue.push(source);
        known.add(name(source));
      }
    }
    return { found, missing };
  }

  // Every cell of the history by its step, the kept ones too.
  function cells(node) {
    const steps = new Map();
    const queue = [node];
    const known = new Set([name(node)]);
    while (queue.length) {
      const next = queue.pop();
      if (!steps.has(next[0])) steps.set(next[0], []);
      steps.get(next[0]).push(next);
      for (const [source] of sources(next) ?? []) {
        if (!known.has(name(source))) queue.push(source);
        known.add(name(source));
      }
    }
    return steps;
  }

  const shape = (tag, attributes, text) => {
    const made = document.createElementNS(SVG, tag);
    for (const [key, held] of Object.entries(attributes)) made.setAttribute(key, held);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const shown = ([at, variable, position]) =>
    `${trace.names[variable]} = ${trace.shown[code(trace.steps[at].now, variable, position)]}`;

  // An arrow from one point to another, bent a little where they are one above the other.
  function arrow([x1, y1], [x2, y2], kind) {
    const bend = Math.abs(x1 - x2) < 4 && Math.abs(y1 - y2) > 60 ? 34 : 0;
    const [x, y] = [(x1 + x2) / 2 + bend, (y1 + y2) / 2];
    const angle = Math.atan2(y2 - y, x2 - x);
    const barb = (side) =>
      `${x2 - 7 * Math.cos(angle + side)} ${y2 - 7 * Math.sin(angle + side)}`;
    const path = `M${x1} ${y1} Q${x} ${y} ${x2} ${y2} M${barb(0.5)} L${x2} ${y2} L${barb(-0.5)}`;
    return shape("path", { d: path, class: `arrow ${kind}` });
  }

  // Where boxes stand: positions across, steps downwards, those of one place one below another.
  function arrange(nodes) {
    const [wide, high] = [128, 30];
    const across = [...new Set(nodes.map((node) => node[2]))].sort((a, b) => a - b);
    const steps = [...new Set(nodes.map((node) => node[0]))].sort((a, b) => a - b);
    const places = new Map();
    const rows = [];
    let top = 44;
    for (const at of steps) {
      const stacks = new Map();
      rows.push([at, top]);
      for (const node of nodes.filter((one) => one[0] === at)) {
        const stack = stacks.get(node[2]) ?? 0;
        stacks.set(node[2], stack + 1);
        places.set(name(node), [70 + across.indexOf(node[2]) * wide + wide / 2, top + stack * high]);
      }
      top += Math.max(...stacks.values()) * high + 26;
    }
    return { places, rows, across, width: 70 + across.length * wide, height: top };
  }

  // The history of a cell as a drawing; `visit` is called with the node of a box that is chosen.
  function draw(node, visit) {
    const { found, missing } = history(node);
    const entries = [...found.values()].slice(0, MOST);
    const { places, rows, across, width, height } = arrange(entries.map((entry) => entry.node));
    const svg = shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group" });
    across.forEach((position, column) => {
      const x = 70 + column * 128 + 64;
      svg.append(shape("text", { x, y: 14, class: "token" }, cut(trace.tokens[position], 14)));
      svg.append(shape("text", { x, y: 28, class: "quiet" }, position));
    });
    for (const [at, y] of rows) {
      const step = trace.steps[at];
      const layer = (step.place + 1) >> 1;
      const label = layer === 0 ? ["start"] : [`layer ${layer}`, step.place % 2 ? "attention" : "MLP"];
      label.forEach((line, n) =>
        svg.append(shape("text", { x: 0, y: y + 4 + 12 * n, class: "quiet left" }, line)));
    }
    for (const entry of entries) {
      const [x, y] = places.get(name(entry.node));
      for (const [source, kind] of entry.links) {
        const from = places.get(name(source));
        if (from) svg.append(arrow([from[0], from[1] + 11], [x, y - 12], kind));
      }
    }
    entries.forEach((entry, number) => svg.append(box(entry, places, visit, number === 0)));
    return { svg, left: found.size - entries.length, missing, size: found.size };
  }

  function box({ node }, places, visit, isTarget) {
    const [x, y] = places.get(name(node));
    const held = shape("g", { tabindex: 0, role: "button", class: isTarget ? "box target" : "box" });
    const title = `${shown(node)} at position ${node[2]}, ${trace.steps[node[0]].title}`;
    held.setAttribute("aria-label", title);
    held.dataset.node = name(node);
    held.append(shape("title", {}, title));
    held.append(shape("rect", { x: x - 58, y: y - 11, width: 116, height: 22, rx: 5 }));
    held.append(shape("text", { x, y: y + 4 }, cut(shown(node), 17)));
    held.addEventListener("click", () => visit(node));
    held.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      visit(node);
    });
    return held;
  }

  return { sources, cells, draw, rule, arrow, shape };
};
