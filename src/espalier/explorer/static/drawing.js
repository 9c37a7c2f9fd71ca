// The drawings of a view as one picture: each where it is on the page, with its own title.
import { make, shape } from "./dom.js";

const LOOK = ["fill", "stroke", "stroke-width", "stroke-opacity", "font", "text-anchor", "opacity"];

// A copy that carries the styles that it is shown with.
function dressed(svg) {
  const copy = svg.cloneNode(true);
  const shown = [...svg.querySelectorAll("*")];
  [...copy.querySelectorAll("*")].forEach((one, place) => {
    const style = getComputedStyle(shown[place]);
    one.setAttribute("style", LOOK.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
  });
  return copy;
}

function picture(element) {
  const drawn = [...element.querySelectorAll("svg")].filter((svg) => svg.getBoundingClientRect().width && svg.getAttribute("class") !== "arrows");
  const boxes = drawn.map((svg) => svg.getBoundingClientRect());
  const [left, top] = [Math.min(...boxes.map((box) => box.left)), Math.min(...boxes.map((box) => box.top)) - 24];
  const [wide, high] = [Math.max(...boxes.map((box) => box.right)) - left, Math.max(...boxes.map((box) => box.bottom)) - top];
  const { color, backgroundColor } = getComputedStyle(document.body);
  const all = shape("svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}` }, shape("rect", { width: wide, height: high, fill: backgroundColor }));
  drawn.forEach((svg, place) => {
    const [copy, box] = [dressed(svg), boxes[place]];
    const size = { x: box.left - left, y: box.top - top, width: box.width, height: box.height };
    for (const [name, value] of Object.entries(size)) copy.setAttribute(name, value);
    const titles = [svg.closest("article")?.querySelector("h2")?.firstChild?.textContent, svg.closest("figure")?.querySelector("figcaption")?.textContent];
    all.append(shape("text", { x: size.x, y: size.y - 6, fill: color, style: "font:600 13px sans-serif" }, titles.filter(Boolean).join(": ")), copy);
  });
  all.setAttribute("xmlns", all.namespaceURI);
  return { text: new XMLSerializer().serializeToString(all), wide, high };
}

export const asSvg = (element) => new Blob([picture(element).text], { type: "image/svg+xml" });

export async function asPng(element) {
  const { text, wide, high } = picture(element);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = make("canvas", { width: 2 * wide, height: 2 * high });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done));
}
