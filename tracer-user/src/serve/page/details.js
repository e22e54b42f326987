// All that is known of one device: the agent's sentences, charts, geometry,
// classes, times, and what an array made of what was asked of it.

import { Lines } from "./chart.js";
import { element } from "./dom.js";
import { finding } from "./findings.js";
import { amount, count, milliseconds, NOT_KNOWN, percent, rate, size, times } from "./format.js";

export class Details {
  #findings = element("ul");
  #charts = element("div", { class: "charts" });
  #tables = element("div", { class: "tables" });
  #requests = new Lines("Requests a second", { reads: "reads", writes: "writes" }, rate);
  #misaligned = new Lines(
    "Misaligned (normal: 0%)",
    { misalignedReads: "reads", misalignedWrites: "writes" },
    percent,
  );
  #prereads = new Lines("Pre-read for what was written (normal: 0%)", { prereads: "pre-read" }, percent);

  constructor(node) {
    node.append(element("div", { class: "details" }, this.#findings, this.#charts, this.#tables));
    this.#charts.append(this.#requests.node, this.#misaligned.node);
  }

  show(device, points, now) {
    const notes = device.notes.map((text) => ({ weight: "hint", text }));
    const sentences = [...device.findings, ...notes].map((one) => finding(one));
    this.#findings.replaceChildren(...sentences);
    this.#requests.update(points, now);
    this.#misaligned.update(points, now);
    if (device.raid) {
      this.#charts.append(this.#prereads.node);
      this.#prereads.update(points, now);
    }
    const tables = [geometry(device), operations(device), remainders(device), raid(device)];
    this.#tables.replaceChildren(...tables.filter(Boolean));
  }
}

/** A table of two columns; what is not known is left out. */
const facts = (title, pairs) => {
  const known = pairs.filter(([, value]) => value !== NOT_KNOWN && value !== "");
  const rows = known.map(([name, value]) =>
    element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value)),
  );
  return element("table", {}, element("caption", {}, title), element("tbody", {}, ...rows));
};

const geometry = (device) => {
  const { geometry: known, start } = device;
  return facts("Geometry", [
    ["Device", `${device.kind}, ${device.major}:${device.minor}`],
    ["Made of", device.members.join(", ")],
    ["Partition of", device.disk ?? NOT_KNOWN],
    ["Logical block", size(known.logical_block_bytes)],
    ["Physical block", size(known.physical_block_bytes)],
    ["First aligned byte", size(known.alignment_offset_bytes)],
    ["Chunk", size(known.chunk_bytes)],
    ["Stripe", size(known.stripe_bytes)],
    ["Data disks", count(known.data_disks)],
    ["First boundary of the layer below", size(known.phase_bytes)],
    ["Boundary given", size(known.boundary_bytes)],
    ...(start ?? []).map((check) => [`Start, of ${size(check.boundary_bytes)}`, placed(check)]),
  ]);
};

const placed = (check) =>
  check.remainder_bytes === 0 ? "aligned" : `${size(check.remainder_bytes)} past a boundary`;

/** What the table of operations has, line by line. */
const OPERATIONS = [
  ["Requests", (op) => count(op.requests)],
  ["Data", (op) => amount(op.bytes)],
  ["Aligned", (op) => count(op.physical.aligned)],
  ["Misaligned, a ragged start or end", (op) => count(op.physical.off_grid)],
  ["Misaligned, shorter than a block", (op) => count(op.physical.sub_block)],
  ["Blocks only partly covered", (op) => count(op.physical.partial_blocks)],
  ["Across a chunk boundary", (op) => count(op.chunk?.crossing)],
  ["Whole stripes", (op) => count(op.stripe?.full)],
  ["Whole stripes and a ragged end", (op) => count(op.stripe?.mixed)],
  ["No whole stripe", (op) => count(op.stripe?.partial)],
  ["Half took at most, aligned", (op) => time(op, "aligned", "p50")],
  ["Half took at most, misaligned", (op) => time(op, "misaligned", "p50")],
  ["99% took at most, aligned", (op) => time(op, "aligned", "p99")],
  ["99% took at most, misaligned", (op) => time(op, "misaligned", "p99")],
];

const time = (op, which, quantile) => {
  const text = milliseconds(op.latency_seconds?.[which][quantile]);
  return text === NOT_KNOWN ? text : `${text} ms`;
};

const operations = ({ read, write }) => {
  const head = ["", "Reads", "Writes"].map((text) => element("th", { scope: "col" }, text));
  const rows = OPERATIONS.map(([name, text]) => [name, text(read), text(write)])
    .filter((cells) => cells[1] !== NOT_KNOWN || cells[2] !== NOT_KNOWN)
    .map(([name, ...cells]) =>
      element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((text) => element("td", {}, text))),
    );
  return element(
    "table",
    {},
    element("caption", {}, "In this interval"),
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows),
  );
};

/** Where in their physical block requests started. */
const remainders = ({ histograms }) => {
  const bins = histograms?.remainder_bytes;
  if (!bins?.some((bin) => bin.reads + bin.writes > 0)) {
    return null;
  }
  const most = Math.max(...bins.map((bin) => Math.max(bin.reads, bin.writes)));
  const cell = (value, name) => {
    const bar = element("span", { class: `bar ${name}` });
    bar.style.setProperty("--part", value / most);
    return element("td", {}, bar, " ", count(value));
  };
  const rows = bins.map((bin) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, `+${bin.bytes}`),
      cell(bin.reads, "reads"),
      cell(bin.writes, "writes"),
    ),
  );
  const head = ["Byte", "Reads", "Writes"].map((text) => element("th", { scope: "col" }, text));
  return element(
    "table",
    { class: "bars" },
    element("caption", {}, "Start in the physical block (normal: +0)"),
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows),
  );
};

const raid = ({ raid: figures }) => {
  if (!figures) {
    return null;
  }
  const { preread_bytes: preread } = figures;
  return facts(`Array, ${figures.source}`, [
    ["Level", figures.level],
    ["Failed members", count(figures.degraded)],
    ["Synchronization", figures.sync_action ?? NOT_KNOWN],
    ["Written by users", amount(figures.user_write_bytes)],
    ["Pre-read to modify (rmw)", amount(preread.rmw)],
    ["Pre-read to reconstruct (rcw)", amount(preread.rcw)],
    ["Pre-read for partial blocks", amount(preread.partial_block)],
    ["Pre-read, kind not told", preread.not_told === 0 ? NOT_KNOWN : amount(preread.not_told)],
    ["Pre-read for what was written (normal: 0%)", percent(figures.preread_ratio)],
    ["Pre-read for what md wrote (normal: 0%)", percent(figures.reads_on_write)],
    ["md wrote, times what users wrote", times(figures.write_amplification)],
    ["The least that this level allows", times(figures.write_amplification_minimum)],
    ["Rows that writes filled (normal: 100%)", percent(figures.full_row_share)],
    ["Parity written", amount(figures.parity_write_bytes)],
    ["md's own books", amount(figures.metadata_write_bytes)],
    ["Reasons not told, read", amount(figures.unattributed_read_bytes)],
    ["Reasons not told, written", amount(figures.unattributed_write_bytes)],
    ["Rows in the stripe cache", cache(figures.stripe_cache)],
  ]);
};

const cache = (rows) => (rows ? `${count(rows.active_rows)} of ${count(rows.size_rows)}` : NOT_KNOWN);
