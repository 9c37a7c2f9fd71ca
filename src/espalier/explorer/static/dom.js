// Elements, and what every view shares.

// An element: attributes, `on…` listeners, and children that are text or elements.
export function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && name !== "list" && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

const SPACE = new DOMParser().parseFromString("<svg></svg>", "text/html")
  .querySelector("svg").namespaceURI;
export function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

export const plural = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

// A label with its control.
export const labelled = (text, control) => make("label", { class: "field" }, make("span", {}, text), control);

export function select(options, value, onchange) {
  const made = make("select", { onchange: () => onchange(made.value) },
    ...options.map(([key, text]) => make("option", { value: key }, text)));
  if (options.some(([key]) => String(key) === String(value))) made.value = value;
  return made;
}

// How much of a colour, as a background that suits light and dark screens.
export const tint = (share, negative = false) =>
  `color-mix(in srgb, var(${negative ? "--orange" : "--blue"}) ${Math.round(
    Math.min(1, Math.abs(share)) * 48)}%, var(--card))`;

export const number = (value) =>
  value === null || Number.isNaN(value) ? "–"
    : Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3)
      ? value.toExponential(1) : String(Math.round(value * 1000) / 1000);

// The key of a question: the same for the same question.
export const keyOf = (name, asked) =>
  `${name} ${JSON.stringify(asked, (_, value) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value)}`;

// Does one piece of work at a time. While one is done only the newest of those that came since waits;
// the others are answered by null.
export function oneAtATime() {
  let [busy, next] = [false, null];
  async function go() {
    busy = true;
    while (next) {
      const [work, done] = next;
      next = null;
      done(await work());
    }
    busy = false;
  }
  return (work) => new Promise((done) => {
    next?.[1](null);
    next = [work, done];
    if (!busy) go();
  });
}

// Draws a part of the page again without taking the keyboard's place from it.
export function keepFocus(part, draw) {
  const all = () => [...part.querySelectorAll("button, input, select, [tabindex]")];
  const at = all().indexOf(part.getRootNode().activeElement);
  draw();
  if (at >= 0) all()[at]?.focus();
}

// A file for the reader to keep.
export function download(name, blob) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

export const isTyping = (event) =>
  event.altKey || event.ctrlKey || event.metaKey ||
  event.target.closest?.("input, select, textarea") !== null;
