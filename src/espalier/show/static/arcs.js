// The reader chooses how many arcs are shown, and follows a word or a pair by pointing at it.
for (const block of document.querySelectorAll(".espalier-arcs")) {
  const range = block.querySelector("input"), shown = block.querySelector("span");
  const told = block.querySelector("output");
  if (!range) continue;
  const pairs = [...block.querySelectorAll(".pair")], edges = [...block.querySelectorAll(".edge")];
  const show = () => {
    shown.textContent = range.value;
    for (const arc of pairs) arc.style.display = +arc.dataset.rank < +range.value ? "" : "none";
  };
  const follow = (keep, text) => {
    for (const arc of [...pairs, ...edges]) arc.classList.toggle("faded", !!keep && !keep(arc));
    told.textContent = text;
  };
  range.addEventListener("input", show);
  for (const word of block.querySelectorAll(".word")) {
    const place = word.dataset.word;
    const touches = (arc) => arc.dataset.left === place || arc.dataset.right === place;
    word.addEventListener("mouseenter", () => follow(touches, word.textContent));
    word.addEventListener("mouseleave", () => follow(null, ""));
  }
  for (const arc of [...pairs, ...edges]) {
    const title = arc.querySelector("title").textContent;
    arc.addEventListener("mouseenter", () => follow((other) => other === arc, title));
    arc.addEventListener("mouseleave", () => follow(null, ""));
  }
  for (const cell of document.querySelectorAll(".espalier-pairs td[data-pair]")) {
    const [left, right] = cell.dataset.pair.split(" ");
    const same = (arc) => arc.dataset.left === left && arc.dataset.right === right;
    cell.addEventListener("mouseenter", () => {
      for (const arc of pairs) if (same(arc)) arc.style.display = "";
      follow(same, cell.title);
    });
    cell.addEventListener("mouseleave", () => { show(); follow(null, ""); });
  }
}
