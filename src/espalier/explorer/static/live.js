// The page on loopback: questions go to the server that gave it out.
import { start } from "./app.js";

const ask = async (name, asked) => {
  try {
    const response = await fetch(`ask/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(asked),
    });
    return await response.json();
  } catch {
    return { error: "the explorer does not answer: is its command still running?" };
  }
};
start(document.getElementById("explorer"), {
  ask,
  live: true,
  template: async () => (await fetch("offline.html")).text(),
  address: {
    read: () => location.hash.slice(1),
    write: (state) => history.replaceState(null, "", `#${state}`),
    changed: (call) => addEventListener("hashchange", call),
  },
});
