// A sentence as a picture: its strongest pairs as arcs above the words, its parse below.
import { shape } from "./dom.js";

const RISE = 15;
const HIGHEST = 190;

export function arcs(found, { most, chosen, onword, onpair }) {
  const { words, values, unknown, parse } = found;
  const widths = words.map((word) => Math.max(34, 8.4 * Math.min(24, word.length) + 22));
  let edge = 0;
  const places = widths.map((width) => (edge += width) - width / 2);
  const pairs = words.flatMap((_, left) => words.slice(left + 1).map((_, n) => [left, left + 1 + n]))
    .filter(([left, right]) => values[left][right] !== null)
    .sort((one, other) => values[other[0]][other[1]] - values[one[0]][one[1]]);
  const height = (left, right) => Math.min(HIGHEST, 8 + RISE * Math.abs(right - left));
  const isChosen = ([left, right]) => String(chosen) === String([left, right]);
  const shown = pairs.filter((pair, rank) => rank < most || isChosen(pair));
  const top = Math.max(20, ...shown.map(([left, right]) => height(left, right))) + 8;
  const line = top + 22;
  const largest = Math.max(1e-9, ...pairs.map(([left, right]) => values[left][right]));
  const below = parse ? Math.max(...parse.heads.map((head, n) => (head < 0 ? 0 : height(head, n)))) + 34 : 10;
  const svg = shape("svg", { width: edge, height: line + below, viewBox: `0 0 ${edge} ${line + below}`, role: "group" });
  const curve = (from, to, base, reach) => `M${from},${base}C${from},${base - reach / 0.75} ${to},${base - reach / 0.75} ${to},${base}`;
  const title = (text) => shape("title", {}, text);
  for (const pair of [...shown].reverse()) {
    const [left, right] = pair;
    const share = values[left][right] / largest;
    svg.append(shape("path", { class: `pair${isChosen(pair) ? " chosen" : ""}`, "stroke-width": 0.8 + 4.5 * share, "stroke-opacity": 0.25 + 0.65 * share,
      d: curve(places[left] + 3, places[right] - 3, top, height(left, right)), onclick: () => onpair(left, right) },
    title(`${words[left]} ${words[right]}: ${values[left][right]}`)));
  }
  words.forEach((word, place) => {
    const kind = `word${unknown.includes(place) ? " unknown" : ""}${chosen.includes(place) ? " chosen" : ""}`;
    svg.append(shape("text", { class: kind, x: places[place], y: line - 5, tabindex: 0, role: "button",
      "aria-label": `${word}${unknown.includes(place) ? ", unknown to the model" : ""}`, onclick: () => onword(place),
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); onword(place); } } },
    word.length > 24 ? `${word.slice(0, 23)}…` : word));
  });
  parse?.heads.forEach((head, place) => {
    if (head < 0 || head >= words.length) return;
    const reach = height(head, place);
    const side = head < place ? 5 : -5;
    svg.append(shape("path", { class: "edge", d: curve(places[head] + side, places[place] - side / 2, line + 6, -reach) },
      title(`${words[head]} → ${words[place]}: ${parse.relations[place]}`)));
    svg.append(shape("text", { class: "quiet", x: (places[head] + places[place]) / 2, y: line + 16 + reach }, parse.relations[place]));
  });
  return svg;
}
