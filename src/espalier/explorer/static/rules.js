// The rules of a program, searched, with how often each fired.
import { make, oneAtATime, plural } from "./dom.js";

export function rulesPanel({ ask }) {
  let waiting = null;
  let turn = 0;
  const search = oneAtATime();
  const box = make("input", { type: "search", "aria-label": "Search the rules", placeholder: "words that a rule holds, such as a variable or a value", maxlength: "200",
    oninput: () => { clearTimeout(waiting); waiting = setTimeout(() => show(box.value), 150); } });
  const count = make("p", { class: "quiet", "aria-live": "polite" });
  const list = make("tbody");
  const element = make("div", { class: "rules", hidden: true }, box, count,
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rules" },
      make("table", {}, make("thead", {}, make("tr", {}, ["rule", "fired", "what it says"].map((text) => make("th", { scope: "col" }, text)))), list)));

  async function show(query) {
    const mine = ++turn;
    box.value = query;
    const found = await search(() => ask(query));
    if (mine !== turn || found === null) return;
    count.textContent = found.error ?? `${plural(found.found, "rule")} (resets left out), of which ${found.fired} fired on this input${found.rules.length < found.found ? `; the first ${found.rules.length} are listed` : ""}.`;
    list.replaceChildren(...(found.rules ?? []).map(([name, text, fired]) =>
      make("tr", { class: fired ? "fired" : "" }, make("td", {}, String(name)), make("td", {}, fired ? `${fired}×` : ""), make("td", {}, make("code", {}, text)))));
  }
  return { element, show };
}
