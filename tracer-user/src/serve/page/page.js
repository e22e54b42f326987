// The page: asks the agent what happened in the last second, and shows it.
// Every figure, rate and sentence is the agent's; here they are only drawn.

import { Devices } from "./devices.js";
import { element, setText } from "./dom.js";
import { duration, NOT_KNOWN } from "./format.js";
import { History } from "./history.js";
import { finding } from "./findings.js";

const PERIOD_MS = 1000;
const AFTER_FAILURE_MS = 5000;
/** An agent of thousands of devices is not kept busy by a page. */
const REST = 4;
const MOST_COSTS = 6;

const byId = (id) => document.getElementById(id);
const history = new History();
const devices = new Devices(byId("devices"), history);
let paused = false;
let shown;

const ask = async () => {
  const response = await fetch("api/v1/interval", { cache: "no-store" });
  if (!response.ok) {
    throw new Error(`status ${response.status}`);
  }
  return response.json();
};

const state = (name, text) => {
  byId("state").className = name;
  setText(byId("state"), text);
};

const show = (line) => {
  // Asked again within a second, the agent gives the same again.
  if (line.time === shown) {
    return;
  }
  shown = line.time;
  history.add(line);
  const lost = line.lost_events ?? NOT_KNOWN;
  const when = new Date(line.time).toLocaleTimeString();
  setText(byId("about"), `${when}, figures of ${duration(line.interval_seconds)}. Lost events: ${lost}. ${line.attach}`);
  costs(line.devices);
  devices.show(line);
};

const costs = (all) => {
  const costly = all.filter((device) => device.findings[0].weight === "cost");
  const items = costly.slice(0, MOST_COSTS).map((device) => {
    const open = element("button", { type: "button" }, device.device);
    open.addEventListener("click", () => devices.open(device.device));
    return finding(device.findings[0], open, ": ");
  });
  if (costly.length > MOST_COSTS) {
    items.push(element("li", {}, `and ${costly.length - MOST_COSTS} devices more, marked !! below`));
  }
  if (costly.length === 0) {
    items.push(finding({ weight: "fine", text: "nothing: no misaligned writes and no pre-reads (normal: 0%)" }));
  }
  // A button that has the focus must not be taken away under it.
  if (!byId("costs").contains(document.activeElement)) {
    byId("costs").replaceChildren(...items);
  }
};

const rest = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

const live = async () => {
  for (;;) {
    const begin = performance.now();
    let pause = PERIOD_MS;
    if (!paused && !document.hidden) {
      try {
        show(await ask());
        state("live", "live");
      } catch (error) {
        state("lost", `no figures from the agent (${error.message}); asking again every few seconds`);
        pause = AFTER_FAILURE_MS;
      }
    }
    await rest(Math.max(pause, REST * (performance.now() - begin)));
  }
};

byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", paused);
  if (paused) {
    state("paused", "paused");
  }
});
byId("choose").addEventListener("submit", (event) => event.preventDefault());
byId("choose").addEventListener("input", () => devices.choose(byId("name").value, byId("busy").checked));

setText(byId("host"), location.host);
document.title = `iotrace ${location.host}`;
live();
