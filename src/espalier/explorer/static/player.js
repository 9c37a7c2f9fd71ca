// Steps through a trace: buttons, a slider, and a strip of how much each step changed.
import { make } from "./dom.js";

export function player({ onstep }) {
  let [at, steps, timer, changes] = [0, 1, null, []];
  const button = (text, label, onclick) => make("button", { type: "button", "aria-label": label, title: label, onclick }, text);
  const slider = make("input", { type: "range", min: "0", value: "0", "aria-label": "Step",
    oninput: () => { pause(); go(Number(slider.value)); } });
  const title = make("strong", { class: "now", "aria-live": "polite" });
  const playing = button("Play", "Play or pause (space)", () => play());
  const strip = make("canvas", { class: "strip", title: "How many values each step changed; a click goes there",
    onclick: (event) => {
      const box = strip.getBoundingClientRect();
      pause();
      go(Math.floor(((event.clientX - box.left) / box.width) * steps));
    } });
  const element = make("div", { class: "player" },
    make("div", { class: "controls" },
      button("«", "First step (Home)", () => move(0)), button("‹", "One step back (←)", () => move(at - 1)),
      playing, button("›", "One step on (→)", () => move(at + 1)),
      button("»", "Last step (End)", () => move(steps - 1)), slider, title),
    strip);

  function paint() {
    const box = strip.getBoundingClientRect();
    if (!box.width) return;
    const scale = window.devicePixelRatio || 1;
    [strip.width, strip.height] = [box.width * scale, box.height * scale];
    const pen = strip.getContext("2d");
    const colours = getComputedStyle(strip);
    const wide = strip.width / steps;
    const most = Math.max(1, ...changes);
    for (let step = 0; step < steps; step++) {
      const high = strip.height * Math.sqrt((changes[step] ?? 0) / most);
      pen.fillStyle = colours.getPropertyValue(step === at ? "--orange" : "--blue");
      if (step === at) pen.fillRect(step * wide, 0, Math.max(2 * scale, wide - scale), strip.height);
      else pen.fillRect(step * wide, strip.height - high, Math.max(1, wide - scale * (wide > 4)), high);
    }
  }

  function go(step, quiet = false) {
    at = Math.max(0, Math.min(steps - 1, step));
    slider.value = at;
    paint();
    if (!quiet) onstep(at);
  }
  const move = (step) => { pause(); go(step); };
  function pause() {
    clearInterval(timer);
    timer = null;
    playing.textContent = "Play";
  }
  function play() {
    if (timer !== null) return pause();
    if (at === steps - 1) go(0);
    playing.textContent = "Pause";
    timer = setInterval(() => {
      if (!element.isConnected) return pause();
      go(at + 1);
      if (at === steps - 1) pause();
    }, Math.max(60, Math.min(800, 24000 / steps)));
  }
  addEventListener("resize", () => element.isConnected && paint());
  return {
    element,
    go,
    play,
    move: (by) => move(at + by),
    set(count, counts, step, text) {
      [steps, changes] = [count, counts];
      slider.max = count - 1;
      slider.disabled = count < 2;
      go(step, true);
      title.textContent = text;
      requestAnimationFrame(paint);
    },
    titled(text) {
      title.textContent = text;
      slider.setAttribute("aria-valuetext", text);
    },
    pause,
    get at() { return at; },
  };
}
