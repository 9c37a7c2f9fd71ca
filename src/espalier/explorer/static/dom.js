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
    Math.min(1, Math.abs(share)) * 72)}%, var(--card))`;

export const number = (value) =>
  value === null || Number.isNaN(value) ? "–"
    : Math.abs(value) >= 1e4 || (value !== 0 && Math.abs(value) < 1e-3)
      ? value.toExponential(1) : String(Math.round(value * 1000) / 1000);

// What was asked, as one text: the same for the same question.
export const keyOf = (name, asked) =>
  `${name} ${JSON.stringify(asked, (_, value) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value)}`;

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
