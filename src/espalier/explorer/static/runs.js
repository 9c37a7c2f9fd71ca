// Runs: folders with their state, curves that grow while training goes on, claims with verdicts.
import { chart } from "./curves.js";
import { keepFocus, make, number, plural } from "./dom.js";

const EVERY = 3000; // how often runs are read again while one is running
const MOST = 40; // runs that one click chooses

export function runsView({ ask, state, update, say, live }) {
  let [timer, shown, chosen] = [null, "", (state.get("runs") ?? "").split("|").filter(Boolean)];
  let turn = 0;
  let [list, filter] = [null, state.get("find") ?? ""];
  const box = make("input", { type: "search", "aria-label": "Find runs", placeholder: "name, kind or state", value: filter, maxlength: "200",
    oninput: () => { filter = box.value; update({ find: filter }); table(); } });
  const body = make("tbody");
  const head = make("thead");
  const note = make("p", { class: "quiet", "aria-live": "polite" });
  const detail = make("div", { class: "multiples" });
  const element = make("section", { class: "runs" }, make("div", { class: "bar" }, note, box),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" }, make("table", {}, head, body)), detail);

  const matches = (run) => filter.toLowerCase().split(/\s+/).every((word) => `${run.name} ${run.kind} ${run.status}`.toLowerCase().includes(word));
  const table = () => keepFocus(element, rows);
  function rows() {
    const some = list.runs.filter(matches);
    const names = [...new Set(some.flatMap((run) => Object.keys(run.measures)))].slice(0, 4);
    note.textContent = list.folder
      ? `${plural(list.runs.length, "run")} in ${list.folder}${some.length < list.runs.length ? `, ${some.length} of them shown` : ""}${list.left ? `; ${list.left} more are not listed` : ""}. Choose some to see their curves side by side.`
      : "No folder of runs was given. Start with: espalier explore RUN_FOLDER";
    const all = make("input", { type: "checkbox", checked: some.length > 0 && some.every((run) => chosen.includes(run.name)), "aria-label": "Show every run that is listed",
      onchange: () => { chosen = all.checked ? some.slice(0, MOST).map((run) => run.name) : []; choose(null); } });
    head.replaceChildren(make("tr", {}, [all, "run", "kind", "state", "epoch", ...names].map((text) => make("th", { scope: "col" }, text))));
    body.replaceChildren(...some.map((run) => {
      const check = make("input", { type: "checkbox", checked: chosen.includes(run.name), "aria-label": `Show ${run.name}`, onchange: () => choose(run.name, check.checked) });
      return make("tr", {}, make("td", {}, check),
        make("th", { scope: "row" }, make("button", { type: "button", class: "plain", onclick: () => { chosen = []; choose(run.name, true); } }, run.name)),
        make("td", {}, run.kind + (run.members > 1 ? ` ×${run.members}` : "")), make("td", { class: `state ${run.status}`, title: run.trouble ?? "" }, run.status, run.trouble ? make("small", {}, ` ${run.trouble}`) : ""),
        make("td", {}, run.epochs ? `${number(run.epoch)} of ${run.epochs}` : ""), names.map((name) => make("td", {}, run.measures[name] === undefined ? "" : number(run.measures[name]))));
    }));
  }

  function choose(name, on) {
    if (name !== null) chosen = on ? [...chosen.filter((one) => one !== name), name] : chosen.filter((one) => one !== name);
    update({ runs: chosen.join("|") });
    table();
    return draw();
  }

  // A small multiple for each chosen run and measure; tables for reproductions.
  async function draw() {
    const mine = ++turn;
    const found = [];
    for (const run of chosen) { // one after the other: a server refuses too many at once
      const one = await ask("run", { run });
      found.push(one.kind === "reproduction" ? { ...one, ...await ask("claims", { run }) } : one);
      if (mine !== turn) return;
    }
    const text = JSON.stringify(found);
    if (text === shown) return;
    shown = text;
    const limits = {};
    for (const run of found) {
      for (const [name, lines] of Object.entries(run.curves ?? {})) {
        const all = lines.flatMap((line) => line.points.map(([, y]) => y)).filter((y) => y !== null);
        limits[name] = [Math.min(limits[name]?.[0] ?? Infinity, ...all), Math.max(limits[name]?.[1] ?? -Infinity, ...all)];
      }
    }
    // The settings in which the runs of a sweep differ.
    const settings = [...new Set(found.flatMap((run) => Object.keys(run.config ?? {})))]
      .filter((name) => found.every((run) => !run.config || name in run.config || run.kind === "reproduction"))
      .filter((name) => new Set(found.filter((run) => name in (run.config ?? {})).map((run) => run.config[name])).size > 1).slice(0, 4);
    detail.classList.toggle("sweep", found.length > 1);
    detail.replaceChildren(...found.map((run, place) => make("article", {}, make("h2", {}, run.name ?? chosen[place], make("small", { class: `state ${run.status}` }, ` ${run.kind ?? ""}, ${run.status ?? ""}`)),
      settings.some((name) => name in (run.config ?? {})) ? make("p", { class: "quiet own" }, settings.map((name) => `${name} = ${run.config[name] ?? "–"}`).join(", ")) : "",
      run.error || run.note ? make("p", { class: "quiet" }, run.error ?? run.note) : "",
      run.config && Object.keys(run.config).length ? make("details", {}, make("summary", {}, "settings"), make("dl", {}, Object.entries(run.config).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]))) : "",
      make("div", { class: "charts" }, Object.entries(run.curves ?? {}).map(([name, lines]) => chart({ title: name, lines, across: run.across, limits: limits[name] }))),
      run.columns ? verdicts(run) : "")));
  }

  function verdicts(run) {
    const at = run.columns.indexOf("verdict");
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table of ${run.name}` }, make("table", {},
      make("thead", {}, make("tr", {}, run.columns.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, run.rows.map((row) => make("tr", {}, row.map((value, column) =>
        make("td", { class: column === at ? `verdict ${String(value).split(" ")[0]}` : "" }, typeof value === "number" ? number(value) : String(value ?? "–"))))))),
    run.left ? make("p", { class: "quiet" }, `… and ${run.left} more rows`) : "");
  }

  async function refresh() {
    const found = await ask("runs");
    if (found.error) return say(found.error);
    list = found;
    table();
    return draw();
  }
  return {
    element,
    async open() {
      await refresh();
      // A page in the background sends no requests.
      let idle = 0; // another run may begin, so that the list is read now and then
      if (live) timer = setInterval(() => {
        idle = list?.runs.some((run) => run.status === "running") ? 0 : (idle + 1) % 5;
        if (!document.hidden && !idle) refresh();
      }, EVERY);
    },
    close: () => clearInterval(timer),
    table: () => list?.runs.map((run) => ({ name: run.name, kind: run.kind, status: run.status, epoch: run.epoch, ...run.measures })),
  };
}
