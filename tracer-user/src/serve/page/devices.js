// The table of devices: one row each, changed in place, so that neither the
// focus nor an opened device is lost while figures change.

import { Bars } from "./chart.js";
import { Details } from "./details.js";
import { element, setText } from "./dom.js";
import { mark } from "./findings.js";
import { megabytes, percent, rate } from "./format.js";

/** A column: class, and the text of a device. */
const COLUMNS = [
  ["wide", ({ rates }) => rate(rates.reads_per_second)],
  ["", ({ rates }) => rate(rates.writes_per_second)],
  ["wide", ({ rates }) => megabytes(rates.read_bytes_per_second)],
  ["wide", ({ rates }) => megabytes(rates.write_bytes_per_second)],
  ["wide", ({ rates }) => percent(rates.misaligned_read_share)],
  ["share", ({ rates }) => percent(rates.misaligned_write_share)],
];

export class Devices {
  #table;
  #history;
  #rows = new Map();
  #wanted = () => true;

  constructor(table, history) {
    this.#table = table;
    this.#history = history;
    table.addEventListener("keydown", (event) => this.#key(event));
  }

  show(line) {
    const now = Date.parse(line.time);
    const gone = new Set(this.#rows.keys());
    let place = this.#table.tHead.nextElementSibling;
    for (const device of line.devices) {
      gone.delete(device.device);
      const row = this.#row(device.device);
      row.show(device, this.#history.of(device.device), now);
      row.hide(!this.#wanted(device));
      if (row.node === place) {
        place = place.nextElementSibling;
      } else {
        this.#table.insertBefore(row.node, place);
      }
    }
    for (const name of gone) {
      this.#rows.get(name).node.remove();
      this.#rows.delete(name);
    }
  }

  /** Shows only devices of such a name, or only those that do anything. */
  choose(name, busy) {
    this.#wanted = (device) =>
      (device.device.includes(name) || (device.dm_name ?? "").includes(name)) &&
      (!busy || device.read.requests > 0 || device.write.requests > 0);
    for (const row of this.#rows.values()) {
      row.hide(!this.#wanted(row.device));
    }
  }

  open(name) {
    const row = this.#rows.get(name);
    if (row) {
      row.hide(false);
      row.open(true);
      row.button.focus();
    }
  }

  #row(name) {
    let row = this.#rows.get(name);
    if (!row) {
      row = new Row(name);
      this.#rows.set(name, row);
    }
    return row;
  }

  #key(event) {
    const buttons = [...this.#table.querySelectorAll("tbody:not([hidden]) .open")];
    const place = buttons.indexOf(document.activeElement);
    if (place < 0) {
      return;
    }
    const next = { ArrowUp: place - 1, ArrowDown: place + 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      buttons[next]?.focus();
    }
  }
}

/** A device: its row, and below it what is known where that is open. */
class Row {
  device;
  node;
  button;
  #mark = element("span");
  #about = element("span", { class: "about" });
  #cells = COLUMNS.map(([name]) => element("td", { class: name }));
  #bars = new Bars();
  #details;
  #below;
  #latest;

  constructor(name) {
    const id = `device-${name}`;
    this.button = element("button", { type: "button", class: "open", "aria-expanded": "false", "aria-controls": id }, name);
    this.button.addEventListener("click", () => this.open(this.#below.hidden));
    const title = element("span", { class: "title" }, this.#mark, " ", this.button);
    const head = element("th", { scope: "row" }, title, " ", this.#about);
    const bars = element("td", { class: "history" }, this.#bars.node);
    const cell = element("td", { colspan: COLUMNS.length + 2 });
    this.#details = new Details(cell);
    this.#below = element("tr", { id, class: "below", hidden: "" }, cell);
    this.node = element("tbody", {}, element("tr", {}, head, ...this.#cells, bars), this.#below);
  }

  show(device, points, now) {
    this.device = device;
    this.#latest = [device, points, now];
    const weight = device.findings[0].weight;
    if (this.node.dataset.weight !== weight) {
      this.node.dataset.weight = weight;
      this.#mark.replaceChildren(mark(weight));
    }
    this.node.style.setProperty("--depth", device.depth);
    setText(this.#about, [device.dm_name, device.raid?.level ?? device.kind].filter(Boolean).join(", "));
    COLUMNS.forEach(([, text], column) => setText(this.#cells[column], text(device)));
    this.#bars.update(points, now);
    if (!this.#below.hidden) {
      this.#details.show(...this.#latest);
    }
  }

  hide(hidden) {
    this.node.hidden = hidden;
  }

  open(open) {
    this.#below.hidden = !open;
    this.button.setAttribute("aria-expanded", open);
    if (open) {
      this.#details.show(...this.#latest);
    }
  }
}
