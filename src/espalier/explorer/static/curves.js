// Lines over training: one chart per measure, one line per member, the mean in front.
import { make, number, shape } from "./dom.js";

const [WIDE, HIGH, LEFT, BELOW] = [280, 150, 46, 22];

export function chart({ title, lines, across, limits }) {
  const points = lines.flatMap((line) => line.points).filter(([x, y]) => x !== null && y !== null);
  if (!points.length) return make("p", { class: "quiet" }, `${title}: no numbers yet`);
  const far = Math.max(1e-9, ...points.map(([x]) => x));
  const near = Math.min(...points.map(([x]) => x));
  let [low, high] = limits ?? [Math.min(...points.map(([, y]) => y)), Math.max(...points.map(([, y]) => y))];
  if (high - low < 1e-12) [low, high] = [low - 0.5, high + 0.5];
  const px = (x) => LEFT + ((x - near) / Math.max(1e-9, far - near)) * (WIDE - LEFT - 8);
  const py = (y) => 8 + (1 - (y - low) / (high - low)) * (HIGH - BELOW - 8);
  const path = (some) => some.filter(([x, y]) => x !== null && y !== null)
    .map(([x, y], n) => `${n ? "L" : "M"}${px(x).toFixed(1)},${py(y).toFixed(1)}`).join("");
  const svg = shape("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${title}: ${number(points.at(-1)[1])} at the end` });
  for (const y of [low, (low + high) / 2, high]) {
    svg.append(shape("path", { class: "axis", d: `M${LEFT},${py(y)}H${WIDE - 8}` }), shape("text", { class: "quiet end", x: LEFT - 4, y: py(y) + 4 }, number(y)));
  }
  svg.append(shape("text", { class: "quiet left", x: LEFT, y: HIGH - 6 }, number(near)), shape("text", { class: "quiet end", x: WIDE - 8, y: HIGH - 6 }, `${across} ${number(far)}`));
  for (const line of lines) {
    const drawn = shape("path", { class: `line${lines.length > 1 ? " member" : ""}`, d: path(line.points) });
    drawn.append(shape("title", {}, `${line.member || title}: ${number(line.points.at(-1)?.[1] ?? null)}`));
    svg.append(drawn);
    if (line.points.length === 1) svg.append(shape("circle", { class: "dot", cx: px(line.points[0][0]), cy: py(line.points[0][1]), r: 3 }));
  }
  if (lines.length > 1) svg.append(shape("path", { class: "line mean", d: path(mean(lines)) }));
  return make("figure", { class: "chart" }, make("figcaption", {}, title), svg);
}

// The mean over members, where all were measured.
function mean(lines) {
  const sums = new Map();
  for (const line of lines) for (const [x, y] of line.points) sums.set(x, [...(sums.get(x) ?? []), y]);
  return [...sums].filter(([, some]) => some.length === lines.length && !some.includes(null)).sort(([a], [b]) => a - b)
    .map(([x, some]) => [x, some.reduce((sum, y) => sum + y, 0) / some.length]);
}
