// What the page has seen of each device, for as long as charts reach back.
// Nothing is kept on the agent: the history begins when the page is opened.

export const KEPT_MS = 120_000;
/** A longer interval is an average that would draw a past nobody saw. */
const LONGEST_SECONDS = 10;

export class History {
  #points = new Map();

  add(line) {
    if (line.interval_seconds > LONGEST_SECONDS) {
      return;
    }
    const end = Date.parse(line.time);
    for (const device of line.devices) {
      const points = this.#points.get(device.device) ?? [];
      points.push({ end, begin: end - line.interval_seconds * 1000, ...figures(device) });
      this.#points.set(device.device, points);
    }
    for (const [name, points] of this.#points) {
      while (points.length > 0 && points[0].end < end - KEPT_MS) {
        points.shift();
      }
      if (points.length === 0) {
        this.#points.delete(name);
      }
    }
  }

  of(name) {
    return this.#points.get(name) ?? [];
  }
}

const figures = ({ rates, raid }) => ({
  reads: rates.reads_per_second,
  writes: rates.writes_per_second,
  misalignedReads: rates.misaligned_read_share,
  misalignedWrites: rates.misaligned_write_share,
  prereads: raid?.preread_ratio ?? null,
});
