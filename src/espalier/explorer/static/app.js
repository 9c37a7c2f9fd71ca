// The explorer: tabs, the address, and the export of a view. A home gives it `ask`.
import { asPng, asSvg } from "./drawing.js";
import { download, keyOf as key, make } from "./dom.js";
import { networksView } from "./networks.js";
import { programsView } from "./programs.js";
import { runsView } from "./runs.js";

export const keyOf = key;
const VIEWS = { programs: ["Programs", programsView], networks: ["Networks", networksView], runs: ["Runs", runsView] };

// Draws the explorer into an element. `home` has ask(name, question), live, address (read, write,
// changed), and template() where it can be written to a file.
export function start(root, home) {
  const recorded = new Map();
  let state = new URLSearchParams();
  let [view, opened] = [null, false];
  const ask = async (name, asked = {}) => {
    const found = await home.ask(name, asked);
    if (!found.error && !found.fault && name !== "file") recorded.set(key(name, asked), found);
    return found.fault ? { error: `something went wrong: ${found.fault}` } : found;
  };
  // The state of a view, in the address; what is empty is left out.
  const update = (changes) => {
    for (const [name, value] of Object.entries(changes)) {
      if (value === "" || value === null || value === undefined) state.delete(name);
      else state.set(name, value);
    }
    write();
  };
  // Browsers refuse an address that changes hundreds of times, as it does when steps are played.
  let [writing, again] = [null, false];
  function write() {
    again = writing !== null;
    if (again) return;
    home.address.write(state.toString());
    writing = setTimeout(() => {
      writing = null;
      if (again) write();
    }, 100);
  }
  const said = make("p", { class: "said", role: "status", "aria-live": "polite" });
  const say = (text) => { said.textContent = text; };
  const main = make("main", { tabindex: "-1" });
  const tabs = make("nav", { "aria-label": "Views" }, Object.entries(VIEWS).map(([name, [title]]) =>
    make("button", { type: "button", "data-view": name, onclick: () => open(name, new URLSearchParams({ view: name })) }, title)));
  const exports = make("div", { class: "exports", role: "group", "aria-label": "Export" });
  root.classList.add("espalier-explorer");
  root.replaceChildren(make("header", {}, make("h1", {}, "espalier"), tabs, exports), said, main);

  async function writePage() {
    await view?.complete?.();
    const answers = Object.fromEntries(recorded);
    const held = JSON.stringify({ state: state.toString(), answers })
      .replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
    const page = (await home.template()).replace(`{}/*${"recorded"}*/`, () => held);
    download(`espalier-${state.get("view")}.html`, new Blob([page], { type: "text/html" }));
    say("One file was written that needs no network: it holds what was looked at here.");
  }

  async function draw(suffix) {
    const name = `espalier-${state.get("view")}${suffix}`;
    download(name, await (suffix === ".svg" ? asSvg(view.element) : asPng(view.element)));
    say(`${name} was written.`);
  }

  async function writeFile(suffix) {
    const asked = view?.file?.();
    const rows = suffix === ".csv" ? view?.table?.() : null;
    if (rows?.length) {
      const names = [...new Set(rows.flatMap(Object.keys))];
      const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
      const lines = [names, ...rows.map((row) => names.map((name) => row[name] ?? ""))];
      return download("runs.csv", new Blob([lines.map((line) => line.map(String).map(quoted).join(",")).join("\n")]));
    }
    if (!asked && suffix !== ".csv" && view?.element.querySelector("figure svg")) return draw(suffix);
    if (!asked) return say("There is nothing to write yet.");
    say(`Writing ${suffix} …`);
    const found = await ask("file", { ...asked, suffix });
    if (found.error) return say(found.error);
    const bytes = Uint8Array.from(atob(found.base64), (c) => c.charCodeAt(0));
    download(found.name, new Blob([bytes]));
    say(`${found.name} was written.`);
  }

  if (home.live) {
    const formats = [["HTML", writePage], ...["png", "svg", "csv"].map((one) => [one.toUpperCase(), () => writeFile(`.${one}`)])];
    exports.append(...(home.template ? formats : formats.slice(1)).map(([text, onclick]) =>
      make("button", { type: "button", title: `Write what is shown as ${text}`, onclick }, text)));
  }

  async function open(name, next) {
    view?.close?.();
    opened = true;
    recorded.clear();
    state = next;
    state.set("view", name);
    write();
    say("");
    tabs.querySelectorAll("button").forEach((one) =>
      one.dataset.view === name ? one.setAttribute("aria-current", "page") : one.removeAttribute("aria-current"));
    view = VIEWS[name][1]({ ask, state, update, say, live: home.live });
    main.replaceChildren(view.element);
    await view.open();
  }

  const read = () => {
    const next = new URLSearchParams(home.address.read());
    const name = next.get("view") in VIEWS ? next.get("view") : "programs";
    if (opened && next.toString() === state.toString()) return undefined; // some homes report our own writes
    return open(name, next);
  };
  home.address.changed(read);
  return read();
}
