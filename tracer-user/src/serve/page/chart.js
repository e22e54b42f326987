// Small charts of the last minutes: drawn by hand, in units of their own box,
// which the style stretches.

import { drawing, element, setText } from "./dom.js";
import { KEPT_MS } from "./history.js";

const WIDTH = 600;
const HEIGHT = 100;

const at = (time, now) => WIDTH * (1 - (now - time) / KEPT_MS);

const box = (...children) =>
  drawing("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...children);

const highest = (points, keys) => Math.max(0, ...points.flatMap((point) => keys.map((key) => point[key] ?? 0)));

/** In a row of the table: writes as bars, their misaligned share filled. */
export class Bars {
  #all = drawing("path", { class: "all" });
  #misaligned = drawing("path", { class: "misaligned" });
  node = box(this.#all, this.#misaligned);

  update(points, now) {
    const top = highest(points, ["writes"]);
    const bars = (part) =>
      points
        .filter((point) => top > 0 && point.writes > 0 && part(point) > 0)
        .map((point) => {
          const left = Math.max(0, at(point.begin, now));
          const right = Math.max(left, at(point.end, now));
          const height = (HEIGHT * point.writes * part(point)) / top;
          return `M${left.toFixed(1)} ${HEIGHT}V${(HEIGHT - height).toFixed(1)}H${right.toFixed(1)}V${HEIGHT}Z`;
        })
        .join("");
    this.#all.setAttribute("d", bars(() => 1));
    this.#misaligned.setAttribute("d", bars((point) => point.misalignedWrites ?? 0));
  }
}

/** Lines with a title, a key and the highest value; the same in words. */
export class Lines {
  #paths = new Map();
  #top = element("span", { class: "top" });
  #words = element("span", { class: "unseen" });
  #lines;
  #text;

  /** `lines`: key of a point → what it is called; `text` makes a value readable. */
  constructor(title, lines, text) {
    this.#lines = lines;
    this.#text = text;
    const key = element("span", { class: "key" });
    for (const [name, label] of Object.entries(lines)) {
      this.#paths.set(name, drawing("path", { class: name }));
      key.append(element("span", { class: name }, label));
    }
    this.node = element(
      "figure",
      {},
      element("figcaption", {}, title, " ", key, this.#words),
      this.#top,
      box(...this.#paths.values()),
      element("span", { class: "past" }, "2 minutes ago"),
      element("span", { class: "now" }, "now"),
    );
  }

  update(points, now) {
    const top = highest(points, Object.keys(this.#lines));
    setText(this.#top, this.#text(top));
    const words = [];
    for (const [name, path] of this.#paths) {
      path.setAttribute("d", line(points, name, top, now));
      const last = points.at(-1)?.[name];
      words.push(`${this.#lines[name]} now ${this.#text(last)}`);
    }
    setText(this.#words, `: ${words.join(", ")}, highest ${this.#text(top)}`);
  }
}

/** Broken where a value is not known. */
const line = (points, name, top, now) => {
  let text = "";
  let joined = false;
  for (const point of points) {
    const value = point[name];
    if (value === null) {
      joined = false;
      continue;
    }
    const x = Math.max(0, at(point.end, now)).toFixed(1);
    const y = (HEIGHT * (1 - (top > 0 ? value / top : 0))).toFixed(1);
    text += `${joined ? "L" : "M"}${x} ${y}`;
    joined = true;
  }
  return text;
};
