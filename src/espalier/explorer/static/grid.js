// A table of any size, of which only what is seen is drawn. Arrow keys go from cell to cell.
import { make, shape } from "./dom.js";

const HIGH = 28; // a row
const HEAD = 40;
const CHARACTER = 8.4;
const AROUND = 3; // rows and columns drawn beyond what is seen

// `model` says: rows, columns (numbers), rowName, columnName, cell(row, column) → {text, kind,
// title, back}, label, widest (characters of a cell) and named (characters of a row's name).
export function grid({ onpoint = () => {}, onchoose = () => {}, onkey = () => false } = {}) {
  const arrows = shape("svg", { class: "arrows", "aria-hidden": "true" });
  const heads = make("div", { class: "g-heads", role: "row" });
  const body = make("div", { class: "g-body" });
  const sizer = make("div", { class: "g-sizer" }, heads, body, arrows);
  const region = make("div", { class: "grid", tabindex: "0", role: "grid" }, sizer);
  let model = { rows: 0, columns: 0 };
  let [wide, side] = [60, 120];
  let at = null; // the cell that keys go from
  let links = []; // arrows: [from row, from column, to row, to column, kind]
  let fed = new Set(); // cells that lead to the one that is asked about: "row column"
  let [frame, cells] = ["", []]; // what is drawn: its rows and columns; [element, row, column, look]

  function show(next) {
    model = next;
    wide = Math.round(Math.max(3, next.widest) * CHARACTER + 14);
    side = Math.round(Math.min(Math.max(6, next.named) * CHARACTER + 22,
      Math.max(90, region.clientWidth * 0.4)));
    if (at && (at[0] >= next.rows || at[1] >= next.columns)) at = null;
    region.setAttribute("aria-rowcount", next.rows);
    region.setAttribute("aria-colcount", next.columns);
    region.setAttribute("aria-label", next.label);
    sizer.style.width = `${side + next.columns * wide}px`;
    sizer.style.height = `${HEAD + next.rows * HIGH}px`;
    draw();
  }

  // The rows and columns that are in sight.
  function seen() {
    const first = Math.max(0, Math.floor(region.scrollLeft / wide) - AROUND);
    const top = Math.max(0, Math.floor(region.scrollTop / HIGH) - AROUND);
    return {
      left: first,
      right: Math.min(model.columns, first + Math.ceil((region.clientWidth || 1200) / wide) + 2 * AROUND),
      top,
      bottom: Math.min(model.rows, top + Math.ceil((region.clientHeight || 700) / HIGH) + 2 * AROUND),
    };
  }

  // Going from step to step, the cells stay and only those that look otherwise are changed.
  function draw() {
    const { left, right, top, bottom } = seen();
    const names = (from, to, name) => Array.from({ length: Math.max(0, to - from) }, (_, n) => name(from + n));
    const next = JSON.stringify([left, top, wide, side, model.corner, names(left, right, model.columnName),
      names(top, bottom, (row) => [model.rowName(row), model.rowKind?.(row)])]);
    if (next === frame) cells.forEach(dress);
    else {
      build(left, right, top, bottom);
      frame = next;
    }
    drawArrows();
    region.setAttribute("aria-activedescendant", at ? `cell-${at[0]}-${at[1]}` : "");
  }

  function build(left, right, top, bottom) {
    const header = [make("div", { class: "g-name g-corner", style: `width:${side}px` }, model.corner ?? "")];
    for (let column = left; column < right; column++) {
      header.push(make("div", { class: "g-head", role: "columnheader",
        style: `left:${side + column * wide}px;width:${wide}px`, title: model.columnName(column) },
      make("small", {}, String(column)), model.columnName(column)));
    }
    heads.replaceChildren(...header);
    cells = [];
    const lines = [];
    for (let row = top; row < bottom; row++) {
      const name = model.rowName(row);
      const line = make("div", { class: `g-row ${model.rowKind?.(row) ?? ""}`, role: "row",
        style: `top:${HEAD + row * HIGH}px` },
      make("div", { class: "g-name", role: "rowheader", style: `width:${side}px`, title: model.rowTitle?.(row) ?? name }, name));
      for (let column = left; column < right; column++) line.append(cell(row, column));
      lines.push(line);
    }
    body.replaceChildren(...lines);
  }

  function cell(row, column) {
    const made = make("div", { role: "gridcell", id: `cell-${row}-${column}`, "data-place": `${row} ${column}`,
      style: `left:${side + column * wide}px;width:${wide}px` });
    const one = [made, row, column, ""];
    cells.push(one);
    dress(one);
    return made;
  }

  // What a cell says and how it looks.
  function dress(one) {
    const [made, row, column, before] = one;
    const { text, kind = "", title = "", back = "" } = model.cell(row, column);
    const chosen = at && at[0] === row && at[1] === column ? " at" : "";
    const look = `g-cell ${kind}${fed.has(`${row} ${column}`) ? " fed" : ""}${chosen}\n${title}\n${back}\n${text}`;
    if (look === before) return;
    one[3] = look;
    made.className = look.slice(0, look.indexOf("\n"));
    made.textContent = text;
    made.style.background = back;
    if (title) made.title = title;
    else made.removeAttribute("title");
  }

  const middle = (row, column) => [side + (column + 0.5) * wide, HEAD + (row + 0.5) * HIGH];
  function drawArrows() {
    arrows.setAttribute("width", side + model.columns * wide);
    arrows.setAttribute("height", HEAD + model.rows * HIGH);
    arrows.replaceChildren(...links.map(([r1, c1, r2, c2, kind]) => {
      // From edge to edge, so that no value is covered.
      const edge = 0.42 * HIGH * (r1 < r2 ? 1 : -1);
      const [x1, y1] = middle(r1, c1).map((place, axis) => place + axis * edge);
      const [x2, y2] = middle(r2, c2).map((place, axis) => place + axis * (r1 === r2 ? edge : -edge));
      const bend = c1 === c2 ? wide * 0.6 : 0;
      const [x, y] = [(x1 + x2) / 2 + bend, (y1 + y2) / 2 - (r1 === r2 ? HIGH * 0.9 : 0)];
      const angle = Math.atan2(y2 - y, x2 - x);
      const barb = (turn) => `${x2 - 8 * Math.cos(angle + turn)} ${y2 - 8 * Math.sin(angle + turn)}`;
      return shape("path", { class: `arrow ${kind}`,
        d: `M${x1} ${y1} Q${x} ${y} ${x2} ${y2} M${barb(0.45)} L${x2} ${y2} L${barb(-0.45)}` });
    }));
  }

  // Scrolls so that a cell is in sight.
  function reveal(row, column) {
    const [x, y] = [column * wide, row * HIGH];
    if (x < region.scrollLeft || x + wide > region.scrollLeft + region.clientWidth - side) {
      region.scrollLeft = x - (region.clientWidth - side) / 2;
    }
    if (y < region.scrollTop || y + HIGH > region.scrollTop + region.clientHeight - HEAD) {
      region.scrollTop = y - (region.clientHeight - HEAD) / 2;
    }
  }

  const go = (row, column) => {
    at = [Math.max(0, Math.min(model.rows - 1, row)), Math.max(0, Math.min(model.columns - 1, column))];
    reveal(...at);
    draw();
    onpoint(...at);
  };
  region.addEventListener("scroll", () => requestAnimationFrame(draw));
  addEventListener("resize", () => region.isConnected && draw());
  region.addEventListener("click", (event) => {
    const place = event.target.closest(".g-cell")?.dataset.place.split(" ").map(Number);
    if (!place) return;
    at = place;
    draw();
    onpoint(...at);
    onchoose(...at);
  });
  region.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !model.rows) return;
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const [row, column] = at ?? [0, 0];
    if (moves[event.key]) at ? go(row + moves[event.key][0], column + moves[event.key][1]) : go(0, 0);
    else if (event.key === "Home") go(row, 0);
    else if (event.key === "End") go(row, model.columns - 1);
    else if (event.key === "Enter" && at) onchoose(...at);
    else if (!onkey(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  return {
    element: region,
    show,
    get columns() {
      const first = Math.ceil(region.scrollLeft / wide);
      return { left: first, right: first + Math.max(1, Math.floor((region.clientWidth - side) / wide)) };
    },
    reveal,
    point(row, column) { at = row === null ? null : [row, column]; },
    // Arrows between cells, and the cells that are marked.
    link(next, marked = []) {
      links = next;
      fed = new Set(marked);
      cells.forEach(dress);
      drawArrows();
    },
    get at() { return at; },
  };
}
